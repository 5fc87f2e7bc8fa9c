// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "criu/base/crypto.hpp"

/// How a secret comes to be known to whoever made it and to the owner of a key pair, and to nobody else. By libgcrypt,
/// which is loaded when the first object is made; GnuTLS 3.7 offers neither RSA-OAEP nor the use of one key in ECDH.
namespace criu::crypto {

/// What a key pair is that something can be encrypted with. The numbers stand in images.
enum class KeyType : std::uint32_t {
    X25519 = 0,  ///< RFC 7748
    P256 = 1,    ///< ECDH (SEC 1) on the curves of FIPS 186
    P384 = 2,
    P521 = 3,
    Rsa = 4,  ///< RSA-OAEP with SHA-256 (RFC 8017), of 2048 to 16384 bits
};

/// Bytes of a scalar, and of a point's coordinate, of a type that isn't RSA.
[[nodiscard]] constexpr std::size_t scalarSize(KeyType type) noexcept {
    return type == KeyType::P384 ? 48 : type == KeyType::P521 ? 66 : kKeySize;
}

/// In front of a point's coordinates, if both are there (SEC 1, 2.3.3).
inline constexpr std::byte kUncompressed{4};

struct PublicKey {
    KeyType type = KeyType::X25519;
    std::vector<std::byte> bytes;     ///< X25519: 32; a curve's point, uncompressed; RSA: the modulus, no zero in front
    std::vector<std::byte> exponent;  ///< RSA only

    bool operator==(const PublicKey&) const = default;
};

struct SecretKey {
    PublicKey own;
    SecretBytes secret;  ///< X25519 and curves: the scalar; RSA: the exponent
};

/// Several threads may use one object.
class KeyAgreement {
public:
    /// Throws Error if libgcrypt isn't installed.
    KeyAgreement();
    ~KeyAgreement();
    KeyAgreement(const KeyAgreement&) = delete;
    KeyAgreement& operator=(const KeyAgreement&) = delete;

    /// X25519: of 32 random bytes.
    [[nodiscard]] PublicKey publicOf(Bytes secret) const;

    struct Agreed {
        std::vector<std::byte> share;  ///< what everybody may see
        SecretBytes secret;            ///< what only the owner of the other key finds with it
    };
    /// A new secret. Throws Error, also for a public key that no secret belongs to.
    [[nodiscard]] Agreed agree(const PublicKey& with) const;

    /// The secret that somebody has made for this key; nothing for a share that can't be for it. A share that was
    /// made for another key of the same type may lead to some other secret. Throws Error for a share that would make
    /// the secret known to all.
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
