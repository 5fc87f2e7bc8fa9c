// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "criu/base/crypto/crypto.hpp"

/// Key agreement: creates a secret that only its creator and the owner of a key pair can compute. It uses libgcrypt,
/// because GnuTLS 3.7 has neither RSA-OAEP nor ECDH with a single key. criu loads libgcrypt when it creates the first
/// object.
namespace criu::crypto {

/// Type of a key pair for encryption. Images contain these numbers.
enum class KeyType : std::uint32_t {
    X25519 = 0,  ///< X25519 of RFC 7748
    P256 = 1,    ///< ECDH (SEC 1) on this curve of FIPS 186; also the next two
    P384 = 2,
    P521 = 3,
    Rsa = 4,  ///< RSA-OAEP with SHA-256 (RFC 8017), with keys of 2048 to 16384 bits
};

/// Returns the size in bytes of a scalar or of a point's coordinate, for all types except RSA.
[[nodiscard]] constexpr std::size_t scalarSize(KeyType type) noexcept {
    return type == KeyType::P384 ? 48 : type == KeyType::P521 ? 66 : kKeySize;
}

/// First byte of a point that is stored with both coordinates (SEC 1, 2.3.3).
inline constexpr std::byte kUncompressed{4};

struct PublicKey {
    KeyType type = KeyType::X25519;
    /// For X25519, 32 bytes; for a curve, an uncompressed point; for RSA, the modulus without leading zeroes.
    std::vector<std::byte> bytes;
    std::vector<std::byte> exponent;  ///< public exponent of RSA; empty for other types

    bool operator==(const PublicKey&) const = default;
};

struct SecretKey {
    PublicKey own;
    SecretBytes secret;  ///< scalar of X25519 or a curve, or secret exponent of RSA
};

/// Key agreement functions of libgcrypt. Several threads may use one object.
class KeyAgreement {
public:
    /// Loads libgcrypt. Throws Error if it isn't installed.
    KeyAgreement();
    ~KeyAgreement();
    KeyAgreement(const KeyAgreement&) = delete;
    KeyAgreement& operator=(const KeyAgreement&) = delete;

    /// Returns the X25519 public key of a secret key, which is 32 random bytes.
    [[nodiscard]] PublicKey publicOf(Bytes secret) const;

    struct Agreed {
        std::vector<std::byte> share;  ///< public part, which the owner of the key needs to compute the secret
        SecretBytes secret;            ///< secret that only the creator and the owner of the key can compute
    };
    /// Creates a new secret for the owner of `with`. Throws Error, also for a public key to which no secret key exists.
    [[nodiscard]] Agreed agree(const PublicKey& with) const;

    /// Computes the secret that agree() created for this key. Returns nullopt if the share has a wrong form for the
    /// key. For a share that belongs to another key of the same type, it may return a wrong secret. Throws Error for a
    /// share from which anyone could compute the secret.
    [[nodiscard]] std::optional<SecretBytes> recover(const SecretKey& own, Bytes share) const;

private:
    struct Library;
    class Expression;
    [[nodiscard]] Agreed agreeX25519(const PublicKey& with) const;
    [[nodiscard]] Agreed agreeOnCurve(const PublicKey& with) const;
    [[nodiscard]] Agreed agreeRsa(const PublicKey& with) const;
    [[nodiscard]] std::optional<SecretBytes> recoverX25519(const SecretKey& own, Bytes share) const;
    [[nodiscard]] std::optional<SecretBytes> recoverOnCurve(const SecretKey& own, Bytes share) const;
    [[nodiscard]] std::optional<SecretBytes> recoverRsa(const SecretKey& own, Bytes share) const;

    std::unique_ptr<const Library> library_;
};

}  // namespace criu::crypto
