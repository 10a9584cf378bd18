"""Running what may crash or hang in a process of its own."""

import faulthandler
import os
import pickle
import signal


def isolated(function, *arguments, seconds=60):
    """Return what ``function(note, *arguments)`` returns in a forked process, killed after `seconds`.

    `note` keeps a word for the message: what was being done when the process died.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        faulthandler.disable()
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # kills compiled code as well
        signal.alarm(seconds)

        def send(kind, value):
            data = pickle.dumps((kind, value))
            os.write(writing, len(data).to_bytes(4, "little") + data)

        try:
            send("result", function(lambda word: send("note", word), *arguments))
        except BaseException as error:
            send("error", f"{type(error).__name__}: {error}")
        os._exit(0)
    os.close(writing)
    kind, value, last = None, None, "the beginning"
    with os.fdopen(reading, "rb") as pipe:
        while head := pipe.read(4):
            kind, value = pickle.loads(pipe.read(int.from_bytes(head, "little")))
            last = value if kind == "note" else last
    status = os.waitpid(child, 0)[1]
    assert not os.WIFSIGNALED(status), f"{signal.Signals(os.WTERMSIG(status)).name} at {last}"
    assert kind == "result", f"{value} at {last}"
    return value
