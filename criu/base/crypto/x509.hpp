// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "criu/base/crypto/crypto.hpp"
#include "criu/base/crypto/key_agreement.hpp"

/// Functions for keys and certificates in standard formats, and for signatures.
namespace criu::crypto {

/// Key or certificate in the DER encoding.
using Der = std::vector<std::byte>;

/// Purpose of a key.
enum class KeyUse { Encryption, Signature };

/// Key and certificate functions of GnuTLS. criu loads the library when it creates the first object. Public keys have
/// the format SubjectPublicKeyInfo; secret keys PKCS #8, PKCS #1 (RSA) or SEC 1 (curves).
/// Messages never contain parts of a secret key. Several threads may use one object. All functions throw Error.
class X509 {
public:
    X509();
    ~X509();
    X509(const X509&) = delete;
    X509& operator=(const X509&) = delete;

    /// Decodes a PEM block, which includes the lines "BEGIN LABEL" and "END LABEL".
    [[nodiscard]] SecretBytes decodePem(std::string_view block, const std::string& label) const;

    /// Returns the public key of a certificate. Throws Error if the certificate isn't valid now, or doesn't allow
    /// `use`.
    [[nodiscard]] Der keyOf(Bytes certificate, KeyUse use) const;

    /// Reads a public key for encryption: X25519, a curve of FIPS 186, or RSA with at least 2048 bits.
    [[nodiscard]] PublicKey recipientOf(Bytes key) const;
    [[nodiscard]] SecretKey identityOf(Bytes secret) const;

    /// Converts a public key for signatures to a form in which equal keys have equal bytes. Accepts Ed25519, Ed448,
    /// ECDSA, and RSA with at least 2048 bits.
    [[nodiscard]] Der signerOf(Bytes key) const;
    /// Returns the public key of a secret key, in the form of signerOf().
    [[nodiscard]] Der signerOfSecret(Bytes secret) const;
    /// Returns an Ed25519 public key of 32 bytes in the form of signerOf().
    [[nodiscard]] static Der ed25519(Bytes raw);
    /// Returns the 32 bytes of an Ed25519 key; empty for other types of keys.
    [[nodiscard]] static Bytes rawEd25519(const Der& key) noexcept;

    /// Returns the signature of data. An RSA key creates an RSA-PSS signature with SHA-256. For other keys, the key
    /// determines the signature algorithm.
    [[nodiscard]] std::vector<std::byte> sign(Bytes secret, Bytes data) const;
    [[nodiscard]] bool verify(Bytes signer, Bytes data, Bytes signature) const;

    /// Throws Error if a certificate chain isn't trusted. `chain` begins with the signer's certificate. The chain must
    /// lead to a certificate of `trusted`, or begin with one.
    /// Also checks times, basic constraints and revocation lists. If a certificate has a key usage, it must allow
    /// signatures; if it has an extended key usage, it must allow code signing.
    void requireTrusted(std::span<const Der> chain, std::span<const Der> trusted,
                        std::span<const Der> revocations) const;

private:
    struct Library;
    class Datum;
    template <typename T>
    class Handle;
    class Certificate;
    class PublicHandle;
    class SecretHandle;
    class TrustList;

    std::unique_ptr<const Library> library_;
};

}  // namespace criu::crypto
