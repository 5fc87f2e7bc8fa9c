// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "criu/base/crypto.hpp"

/// Files of keys, as other programs write them: `openssl genpkey` (PEM, PKCS #8) and age-keygen (one key a line). None
/// of these functions puts any of a key into a message. All throw Error.
namespace criu {

class StopRequest;

/// What a key is for. Keys of one kind aren't taken for the other.
enum class KeyKind {
    Encryption,  ///< X25519: PEM, "age1…" and "AGE-SECRET-KEY-1…"
    Signature,   ///< Ed25519: PEM
};

/// Public keys, at least one. Comments (#) and empty lines are passed over.
[[nodiscard]] std::vector<crypto::PublicKey> parsePublicKeys(std::string_view text, KeyKind kind);

/// Secret keys, at least one.
[[nodiscard]] std::vector<crypto::SecretBytes> parseSecretKeys(std::string_view text, KeyKind kind);

/// Public keys of a file.
[[nodiscard]] std::vector<crypto::PublicKey> readPublicKeys(const std::string& path, KeyKind kind, StopRequest& stop);

/// Secret keys of a file, which must be this user's or root's, and which nobody else may read, or of what is open under
/// a number, such as a pipe.
[[nodiscard]] std::vector<crypto::SecretBytes> readSecretKeys(const std::string& place, KeyKind kind,
                                                              StopRequest& stop);

}  // namespace criu
