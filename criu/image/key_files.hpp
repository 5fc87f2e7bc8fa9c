// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "criu/base/crypto.hpp"
#include "criu/base/key_agreement.hpp"
#include "criu/base/x509.hpp"

/// Key files in formats of other programs: `openssl genpkey`, certificates of a PKI (PEM), and age-keygen (one key a
/// line). Functions ignore text between PEM blocks, except lines of age. No message contains any part of a key. All
/// functions throw Error.
namespace criu {

class StopRequest;

/// Key and certificates that sign images.
struct Signer {
    crypto::SecretBytes key;                ///< in DER
    std::vector<crypto::Der> certificates;  ///< the key's, and those of the chain to an authority; may be empty
};

/// Keys and authorities whose signatures criu accepts.
struct Signers {
    std::vector<crypto::Der> keys;          ///< in the form of X509::signerOf()
    std::vector<crypto::Der> certificates;  ///< certificates of signers, or of authorities that certify signers
    std::vector<crypto::Der> revocations;

    [[nodiscard]] bool empty() const noexcept { return keys.empty() && certificates.empty(); }
};

/// Parses at least one recipient: public keys, certificates, "age1…".
[[nodiscard]] std::vector<crypto::PublicKey> parseRecipients(std::string_view text);

/// Parses at least one identity: secret keys, "AGE-SECRET-KEY-1…". Ignores certificates.
[[nodiscard]] std::vector<crypto::SecretKey> parseIdentities(std::string_view text);

/// Parses one secret key, and optional certificates; the first one must be the key's.
[[nodiscard]] Signer parseSigner(std::string_view text);

/// Parses at least one public key or certificate.
[[nodiscard]] Signers parseSigners(std::string_view text);

/// Read keys from a file.
[[nodiscard]] std::vector<crypto::PublicKey> readRecipients(const std::string& path, StopRequest& stop);
[[nodiscard]] Signers readSigners(const std::string& path, StopRequest& stop);

/// Read secret keys from a file, or from an open descriptor such as a pipe. The file must belong to this user or
/// root, and other users must not be able to read it.
[[nodiscard]] std::vector<crypto::SecretKey> readIdentities(const std::string& place, StopRequest& stop);
[[nodiscard]] Signer readSigner(const std::string& place, StopRequest& stop);

}  // namespace criu
