# SPDX-License-Identifier: GPL-2.0-only
"""Keys for tests of encrypted and signed images, and files of them."""

import os

# Key pairs as openssl genpkey writes them: whose the images are, and strangers'.
KEYS = {"recipient": ("MC4CAQAwBQYDK2VuBCIEIEj6cpm8+R3lnUCNojl4ocUUN0ztRnjhEgm0TJ6vppFF", "MCowBQYDK2VuAyEA94Epnoa0DO91uRpzd1IGZGORyullkQaNZDudNpzmewc="),
        "stranger": ("MC4CAQAwBQYDK2VuBCIEIPjEsiWQuCDtEAbf3vwaK1TnKRmk8sFnLob94IRAuOxo", "MCowBQYDK2VuAyEA5nMtdu932uS5KA70OGxRUm3hfbWtv9EHkcb5Z/QCdnE="),
        "signer": ("MC4CAQAwBQYDK2VwBCIEIPD2klfRtCjh1bQC7OPA0A/K2FNr3y5aAfwLc+eV2uxm", "MCowBQYDK2VwAyEAI7IAwNyDHlz8qmrXgFCshJAdo0GyQp5PrdLFreq2G5Y="),
        "forger": ("MC4CAQAwBQYDK2VwBCIEID9I679BhBlJZYlC59qb9IyBUoXXIvDYPIs42ozrdHmY", "MCowBQYDK2VwAyEA0UycI7LIXPL2NjZxnxEpmrrqUlzZqPLxdsQoxHtM7y8=")}


def write(folder):
    """Makes NAME.key and NAME.pub of each pair in a folder."""
    os.makedirs(folder, exist_ok=True)
    for name, pair in KEYS.items():
        for half, label, text in zip(("key", "pub"), ("PRIVATE", "PUBLIC"), pair):
            path = os.path.join(folder, f"{name}.{half}")
            with open(path, "w", encoding="ascii") as file:
                file.write(f"-----BEGIN {label} KEY-----\n{text}\n-----END {label} KEY-----\n")
            os.chmod(path, 0o600)
