"""A hook of the gallery: each script's figures begin with the first colours."""


def forget(_settings, _script):
    """Forget which look each name has had in the scripts before, as a new program would."""
    from cmab.plotting.style import _known

    _known.clear()
