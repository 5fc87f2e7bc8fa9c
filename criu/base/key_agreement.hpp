// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "criu/base/crypto.hpp"

/// Key agreement: makes a secret that only its maker and the owner of a key pair can compute. Uses libgcrypt, which
/// the first object loads: GnuTLS 3.7 has neither RSA-OAEP nor ECDH with a single key.
namespace criu::crypto {

/// Type of a key pair for encryption. Images contain the numbers.
enum class KeyType : std::uint32_t {
    X25519 = 0,  ///< RFC 7748
    P256 = 1,    ///< ECDH (SEC 1) on the curves of FIPS 186
    P384 = 2,
    P521 = 3,
    Rsa = 4,  ///< RSA-OAEP with SHA-256 (RFC 8017), of 2048 to 16384 bits
};

/// Returns the bytes of a scalar or a point's coordinate for a type other than RSA.
[[nodiscard]] constexpr std::size_t scalarSize(KeyType type) noexcept {
    return type == KeyType::P384 ? 48 : type == KeyType::P521 ? 66 : kKeySize;
}

/// Prefix of a point with both coordinates (SEC 1, 2.3.3).
inline constexpr std::byte kUncompressed{4};

struct PublicKey {
    KeyType type = KeyType::X25519;
    std::vector<std::byte> bytes;     ///< X25519: 32; a curve: uncompressed point; RSA: modulus without leading zeroes
    std::vector<std::byte> exponent;  ///< RSA only

    bool operator==(const PublicKey&) const = default;
};

struct SecretKey {
    PublicKey own;
    SecretBytes secret;  ///< X25519 and curves: the scalar; RSA: the exponent
};

/// Key agreement of libgcrypt. Several threads may use one object.
class KeyAgreement {
public:
    /// Throws Error if libgcrypt isn't installed.
    KeyAgreement();
    ~KeyAgreement();
    KeyAgreement(const KeyAgreement&) = delete;
    KeyAgreement& operator=(const KeyAgreement&) = delete;

    /// Computes the X25519 public key of 32 random bytes.
    [[nodiscard]] PublicKey publicOf(Bytes secret) const;

    struct Agreed {
        std::vector<std::byte> share;  ///< public part, for the owner of the key
        SecretBytes secret;            ///< only the maker and the owner of the key can compute it
    };
    /// Makes a new secret. Throws Error, also for a public key that has no secret key.
    [[nodiscard]] Agreed agree(const PublicKey& with) const;

    /// Recovers the secret that agree() made for this key. Returns nothing if the share has the wrong form for the
    /// key. A share for another key of the same type may lead to a wrong secret. Throws Error for a share whose
    /// secret anyone could compute.
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
