"""Tables of what is refused."""

import pytest


def refused(*rows, by=None, error=ValueError):
    """Return a test that expects an error from each row.

    A row is a function without arguments, or the arguments of `by`, and then a regular expression that the
    message must match.
    """

    @pytest.mark.parametrize("row", rows, ids=[str(row[-1]) or "refused" for row in rows])
    def test(row):
        *arguments, words = row
        with pytest.raises(error, match=words):
            by(*arguments) if by else arguments[0]()

    return test
