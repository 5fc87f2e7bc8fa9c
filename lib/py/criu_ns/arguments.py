# SPDX-License-Identifier: GPL-2.0-only
"""Words of a command line of criu. Options that criu-ns doesn't know are passed on unchanged."""

from __future__ import annotations


class UsageError(Exception):
    """Error for a wrong command line."""


# Short options of criu with a value, for bundles such as -vjt123.
_WITH_VALUE = "tDWorJLM"


class Arguments:
    """Words behind the command. Options are named by their long name and their letter, e.g. ("--tree", "t")."""

    def __init__(self, words: list[str]) -> None:
        self.words = list(words)

    def _find(self, name: str, letter: str) -> tuple[int, int | None] | None:
        """Returns the index of an option's word and the offset of its value in it. Offset None: the value is the next
        word or missing.
        """
        passed_over = False
        for index, word in enumerate(self.words):
            if word == "--":
                return None
            if passed_over:
                passed_over = False
            elif word == name:
                return index, None
            elif word.startswith(f"{name}="):
                return index, len(name) + 1
            elif word.startswith("-") and not word.startswith("--"):
                for at, found in enumerate(word[1:], 1):
                    if found == letter:
                        return index, at + 1 if at + 1 < len(word) else None
                    if found in _WITH_VALUE:
                        passed_over = at + 1 == len(word)
                        break
        return None

    def has(self, name: str, letter: str = "") -> bool:
        """Returns whether an option without a value is given."""
        return self._find(name, letter) is not None

    def remove(self, name: str, letter: str = "") -> bool:
        """Removes an option without a value; returns whether it was given."""
        found = self._find(name, letter)
        if found is None:
            return False
        index, _ = found
        word = self.words[index]
        if word.startswith("--"):
            del self.words[index]
        else:
            rest = word.replace(letter, "", 1)
            self.words[index:index + 1] = [rest] if rest != "-" else []
        return True

    def value(self, name: str, letter: str = "") -> str | None:
        """Returns the value of an option, or None if it isn't given."""
        found = self._find(name, letter)
        if found is None:
            return None
        index, start = found
        if start is not None:
            return self.words[index][start:]
        if index + 1 >= len(self.words):
            raise UsageError(f"{name} needs a value")
        return self.words[index + 1]

    def take(self, name: str, letter: str = "") -> str | None:
        """Removes an option and returns its value; None if it isn't given."""
        taken = self.value(name, letter)
        found = self._find(name, letter)
        if taken is not None and found:
            index, start = found
            del self.words[index:index + (2 if start is None else 1)]
        return taken
