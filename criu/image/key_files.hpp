// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "criu/base/crypto.hpp"
#include "criu/base/key_agreement.hpp"
#include "criu/base/x509.hpp"

/// Files of keys, as other programs write them: `openssl genpkey`, certificates of a PKI (PEM), and age-keygen (one key
/// a line). What stands between PEM blocks is passed over, but for lines of age. None of these functions puts any of a
/// key into a message. All throw Error.
namespace criu {

class StopRequest;

/// Whoever signs.
struct Signer {
    crypto::SecretBytes key;                ///< in DER
    std::vector<crypto::Der> certificates;  ///< of the key, and those between it and an authority; may be none
};

/// Whose signatures are taken.
struct Signers {
    std::vector<crypto::Der> keys;          ///< as X509::signerOf() has them
    std::vector<crypto::Der> certificates;  ///< of signers, or of authorities that say who is one
    std::vector<crypto::Der> revocations;

    [[nodiscard]] bool empty() const noexcept { return keys.empty() && certificates.empty(); }
};

/// At least one that something is encrypted for: public keys, certificates, "age1…".
[[nodiscard]] std::vector<crypto::PublicKey> parseRecipients(std::string_view text);

/// At least one that something was encrypted for: secret keys, "AGE-SECRET-KEY-1…". Certificates are passed over.
[[nodiscard]] std::vector<crypto::SecretKey> parseIdentities(std::string_view text);

/// One secret key, and perhaps certificates, of which the first has to be the key's.
[[nodiscard]] Signer parseSigner(std::string_view text);

/// At least one public key or certificate.
[[nodiscard]] Signers parseSigners(std::string_view text);

/// Of a file.
[[nodiscard]] std::vector<crypto::PublicKey> readRecipients(const std::string& path, StopRequest& stop);
[[nodiscard]] Signers readSigners(const std::string& path, StopRequest& stop);

/// Of a file, which must be this user's or root's, and which nobody else may read, or of what is open under a number,
/// such as a pipe.
[[nodiscard]] std::vector<crypto::SecretKey> readIdentities(const std::string& place, StopRequest& stop);
[[nodiscard]] Signer readSigner(const std::string& place, StopRequest& stop);

}  // namespace criu
