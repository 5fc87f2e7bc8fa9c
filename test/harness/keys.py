# SPDX-License-Identifier: GPL-2.0-only
"""Keys for tests of encrypted and signed images, and files of these keys."""

import os
import subprocess

# Key pairs in the format of openssl genpkey: of the recipients of images, and of strangers.
KEYS = {"recipient": ("MC4CAQAwBQYDK2VuBCIEIEj6cpm8+R3lnUCNojl4ocUUN0ztRnjhEgm0TJ6vppFF", "MCowBQYDK2VuAyEA94Epnoa0DO91uRpzd1IGZGORyullkQaNZDudNpzmewc="),
        "stranger": ("MC4CAQAwBQYDK2VuBCIEIPjEsiWQuCDtEAbf3vwaK1TnKRmk8sFnLob94IRAuOxo", "MCowBQYDK2VuAyEA5nMtdu932uS5KA70OGxRUm3hfbWtv9EHkcb5Z/QCdnE="),
        "signer": ("MC4CAQAwBQYDK2VwBCIEIPD2klfRtCjh1bQC7OPA0A/K2FNr3y5aAfwLc+eV2uxm", "MCowBQYDK2VwAyEAI7IAwNyDHlz8qmrXgFCshJAdo0GyQp5PrdLFreq2G5Y="),
        "forger": ("MC4CAQAwBQYDK2VwBCIEID9I679BhBlJZYlC59qb9IyBUoXXIvDYPIs42ozrdHmY", "MCowBQYDK2VwAyEA0UycI7LIXPL2NjZxnxEpmrrqUlzZqPLxdsQoxHtM7y8=")}


def write(folder):
    """Writes NAME.key and NAME.pub of each pair into a folder."""
    os.makedirs(folder, exist_ok=True)
    for name, pair in KEYS.items():
        for half, label, text in zip(("key", "pub"), ("PRIVATE", "PUBLIC"), pair):
            path = os.path.join(folder, f"{name}.{half}")
            with open(path, "w", encoding="ascii") as file:
                file.write(f"-----BEGIN {label} KEY-----\n{text}\n-----END {label} KEY-----\n")
            os.chmod(path, 0o600)


def certify(folder):
    """Creates keys and certificates with openssl. Authorities: "authority" and "impostor", with NAME.pem. Recipients:
    "rsa" and "curve", with NAME.key and a certificate NAME.pem. Signers: "certified" and "uncertified" (by the
    impostor), with both.
    """
    os.makedirs(folder, exist_ok=True)

    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384"]
    for name in ("authority", "impostor"):
        openssl("req", "-x509", *curve, "-nodes", "-keyout", f"{name}.secret", "-out", f"{name}.pem", "-days", "30", "-subj", "/CN=authority")
    for name, kind, usage, authority in (("rsa", ["-newkey", "rsa:2048"], "keyEncipherment", "authority"), ("curve", curve, "keyAgreement", "authority"),
                                         ("certified", curve, "digitalSignature", "authority"), ("uncertified", curve, "digitalSignature", "impostor")):
        openssl("req", *kind, "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        with open(os.path.join(folder, f"{name}.ext"), "w", encoding="ascii") as file:
            file.write(f"basicConstraints=critical,CA:FALSE\nkeyUsage=critical,{usage}\n")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.pem", "-CAkey", f"{authority}.secret", "-CAcreateserial", "-out", f"{name}.pem",
                "-days", "30", "-extfile", f"{name}.ext")
        if usage == "digitalSignature":
            with open(os.path.join(folder, f"{name}.key"), "a", encoding="ascii") as key, open(os.path.join(folder, f"{name}.pem"), encoding="ascii") as pem:
                key.write(pem.read())
        os.chmod(os.path.join(folder, f"{name}.key"), 0o600)
