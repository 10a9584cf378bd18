"""Odd argument lists for the command, drawn from the options that its real parsers have."""

import argparse
import inspect

from cmab import cli
from cmab._options import parser_of
from cmab.studies import _registry

STUDY = """
horizon = 2
[instances.ads]
oracle = { class = "TopK", n_arms = 2, k = 1 }
[instances.ads.environment]
class = "SemiBandit"
arms = { class = "BernoulliArms", means = [0.2, 0.7] }
oracle = "$oracle"
[learners.Random]
class = "RandomPolicy"
"""
FILES = {
    "study.toml": STUDY,
    "wrong.toml": STUDY.replace("TopK", "Top"),
    "broken.toml": "[[[",
    "empty": "",
    "friends.csv": "from,to,weight\nAnna,Bob,3\nBob,Zoé,1\nAnna,Zoé,2\n",
    "ties.txt": "0 1\n1 2\n2 3\n3 0\n",
    "alone.txt": "a a\n",
    "binary": bytes(range(256)),
    "raises.py": "raise RuntimeError('at import')\n",
    "names.txt": "tea\nmilk\njuice\n",
    "costs.csv": "name,cost\nAnna,1\nBob,2\nZoé,3\n",
    "reports.csv": "round,name,result\n1,Bob,joined\n1,Nobody,joined\n7,Bob,no\n",
}
NUMBERS = [
    "1",
    "2",
    "3",
    "0",
    "-1",
    "7",
    "999999999999999999999",
    "1.5",
    "nan",
    "-inf",
    "1e400",
    "x",
    "",
    "½",
]
REALS = ["0.1", "0.5", "0", "1", "-1", "2", "nan", "inf", "-inf", "1e-320", "x", "", "0,5"]
PATHS = [
    *FILES,
    "folder",
    "spring",
    "spring",
    "none",
    "none/none",
    "",
    "x" * 300,
    "/dev/null",
    "/dev/null/x",
    "$a$.csv",
    "é\u202e",
]
WORDS = [
    "json",
    "raises",
    "no_such_module",
    "weight",
    "from",
    "",
    "tcp://127.0.0.1:9",
    "1/2",
    "0/0",
    "x/y",
    "9",
    "Anna",
    "Bob=1",
    "out.csv",
]
STRAY = ["--", "-", "--no-such", "-x", "\u2603", "--debug", "--help", "extra", "--version"]


def make_files(folder):
    for name, content in FILES.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    (folder / "folder").mkdir()
    (folder / "spring").mkdir()
    (folder / "spring" / "campaign.toml").write_text('network = "friends.csv"\nk = 1\n', encoding="utf-8")
    (folder / "spring" / "friends.csv").write_text(FILES["friends.csv"], encoding="utf-8")


def _parsers():
    """The parser of each command, and for demos and experiments that of each name."""
    (commands,) = (a for a in cli._parser()._actions if isinstance(a, argparse._SubParsersAction))
    found = {}
    for word, parser in commands.choices.items():
        group = {"demo": "demos", "reproduce": "experiments"}.get(word)
        if group is None:
            (inner,) = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)] or [None]
            verbs = {} if inner is None else inner.choices
            found |= {(word, verb): verbs[verb] for verb in verbs} or {(word,): parser}
            continue
        for name in _registry.entries(group):
            function = _registry.load(group, name)
            found[word, name] = parser_of(function, "cmab")
            if "out" not in inspect.signature(function).parameters:
                found[word, name].add_argument("--out", type=cli.path_named)
    return found


def _value(action, rng):
    if action.choices is not None and rng.random() < 0.8:
        return str(rng.choice(list(action.choices)))
    kind = action.type if isinstance(action.type, type) else None
    if action.dest == "part":
        return str(rng.choice(["1/1", "1/2", *WORDS]))
    values = {int: NUMBERS, float: REALS}.get(kind, WORDS if kind is str or action.type is None else PATHS)
    return str(rng.choice(values))


def argument_lists(count, rng):
    """Yield lists of words: known commands with some of their options, most of them with odd values."""
    parsers = _parsers()
    commands = sorted(parsers)
    for _ in range(count):
        command = commands[rng.integers(len(commands))]
        words = list(command)
        actions = [a for a in parsers[command]._actions if not isinstance(a, argparse._HelpAction)]
        for action in actions:
            if action.option_strings:
                if not action.required and rng.random() > 0.25:
                    continue
                words.append(str(rng.choice(action.option_strings)))
            elif rng.random() < 0.1:
                continue
            if action.nargs != 0:
                words.append(_value(action, rng))
        if command == ("arena",):  # all matches would take half an hour
            words += ["--list"] if rng.random() < 0.5 else ["--only", "no such problem"]
        if rng.random() < 0.1:
            words.insert(int(rng.integers(len(words) + 1)), str(rng.choice(STRAY)))
        yield words
