"""A real browser for the tests of the page: the system's Chromium, driven by Selenium."""

import shutil
import socket
import subprocess
import sys
import time

import pytest
from places import ROOT

_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--force-prefers-reduced-motion",
)


def open_browser(profile):
    """Return a browser, or skip the test with the reason."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium drives the browser")
    from selenium.webdriver.chrome.service import Service

    program = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("Chromium and ChromeDriver are not installed (Debian: chromium chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (*_FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(driver))
    browser.set_page_load_timeout(120)
    return browser


def look(browser, width, *, is_dark):
    """Give the page a width and a colour scheme."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = [{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})


class Served:
    """The command ``cmab serve`` in a process of its own, as a context manager."""

    def __init__(self, folder, *options):
        self.words = [sys.executable, "-m", "cmab", "serve", str(folder), "--port", "0", *map(str, options)]

    def __enter__(self):
        self.process = subprocess.Popen(
            self.words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        first = self.process.stdout.readline()
        if not first.startswith("The page is at "):
            self.process.kill()
            told = self.process.communicate()[1]
            raise AssertionError(first + told)
        self.address = first.removeprefix("The page is at ").strip()
        self.base = self.address.split("?")[0].rstrip("/")
        host, port = self.base.removeprefix("http://").split(":")
        for _ in range(600):
            with socket.socket() as trial:
                if trial.connect_ex((host, int(port))) == 0:
                    return self
            time.sleep(0.1)
        raise AssertionError("the page does not answer")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(60)
        self.process.stdout.close()
        self.process.stderr.close()
