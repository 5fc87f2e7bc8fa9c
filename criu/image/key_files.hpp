// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "criu/base/crypto/crypto.hpp"
#include "criu/base/crypto/key_agreement.hpp"
#include "criu/base/crypto/x509.hpp"

/// Functions that read key files in formats of other programs. `openssl genpkey` and PKIs write keys and certificates
/// as PEM; age-keygen writes one key a line. The functions ignore text between PEM blocks, except lines of age.
/// Messages contain no part of a key. All functions throw Error.
namespace criu {

class StopRequest;

/// Key that signs images, and its certificates.
struct Signer {
    crypto::SecretBytes key;  ///< secret key in DER form
    /// Certificate of the key, then certificates of its chain to an authority; may be empty.
    std::vector<crypto::Der> certificates;
};

/// Keys and authorities whose signatures a restore accepts.
struct Signers {
    std::vector<crypto::Der> keys;          ///< public keys in the form of X509::signerOf()
    std::vector<crypto::Der> certificates;  ///< certificates of signers, or of authorities that certify signers
    std::vector<crypto::Der> revocations;

    [[nodiscard]] bool empty() const noexcept { return keys.empty() && certificates.empty(); }
};

/// Parses recipients, at least one: public keys, certificates, or "age1…".
[[nodiscard]] std::vector<crypto::PublicKey> parseRecipients(std::string_view text);

/// Parses identities, at least one: secret keys, or "AGE-SECRET-KEY-1…". Ignores certificates.
[[nodiscard]] std::vector<crypto::SecretKey> parseIdentities(std::string_view text);

/// Parses one secret key and its certificates, if there are any. The first certificate must be of this key.
[[nodiscard]] Signer parseSigner(std::string_view text);

/// Parses public keys, certificates and revocation lists; at least one key or certificate.
[[nodiscard]] Signers parseSigners(std::string_view text);

/// readRecipients() and readSigners() read the file `path`.
[[nodiscard]] std::vector<crypto::PublicKey> readRecipients(const std::string& path, StopRequest& stop);
[[nodiscard]] Signers readSigners(const std::string& path, StopRequest& stop);

/// readIdentities() and readSigner() read a file, or an open descriptor such as a pipe. `place`: path or descriptor
/// number. The file must belong to this user or root, and other users must have no access to it.
[[nodiscard]] std::vector<crypto::SecretKey> readIdentities(const std::string& place, StopRequest& stop);
[[nodiscard]] Signer readSigner(const std::string& place, StopRequest& stop);

}  // namespace criu
