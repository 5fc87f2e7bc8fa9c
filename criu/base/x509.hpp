// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "criu/base/crypto.hpp"
#include "criu/base/key_agreement.hpp"

/// Keys and certificates in standard formats, and signatures.
namespace criu::crypto {

/// A key or certificate in DER.
using Der = std::vector<std::byte>;

/// Purpose of a key.
enum class KeyUse { Encryption, Signature };

/// Key and certificate functions of GnuTLS, which the first object loads. Public keys are SubjectPublicKeyInfo,
/// secret keys PKCS #8, PKCS #1 (RSA) or SEC 1 (curves). Messages never contain parts of a secret key. Several
/// threads may use one object. All functions throw Error.
class X509 {
public:
    X509();
    ~X509();
    X509(const X509&) = delete;
    X509& operator=(const X509&) = delete;

    /// Decodes a PEM block. `block` includes the lines "BEGIN LABEL" and "END LABEL".
    [[nodiscard]] SecretBytes decodePem(std::string_view block, const std::string& label) const;

    /// Returns the public key of a certificate. Throws Error unless the certificate is valid now and allows `use`.
    [[nodiscard]] Der keyOf(Bytes certificate, KeyUse use) const;

    /// Reads a public key for encryption: X25519, RSA of 2048 bits or more, or a curve of FIPS 186.
    [[nodiscard]] PublicKey recipientOf(Bytes key) const;
    [[nodiscard]] SecretKey identityOf(Bytes secret) const;

    /// Converts a key for signatures to its comparable form: Ed25519, Ed448, ECDSA, RSA of 2048 bits or more.
    [[nodiscard]] Der signerOf(Bytes key) const;
    /// Returns the public half of a secret key in the comparable form of signerOf().
    [[nodiscard]] Der signerOfSecret(Bytes secret) const;
    /// Returns an Ed25519 key of 32 bytes in the comparable form.
    [[nodiscard]] static Der ed25519(Bytes raw);
    /// Returns the 32 bytes of an Ed25519 key; empty for other keys.
    [[nodiscard]] static Bytes rawEd25519(const Der& key) noexcept;

    /// Signs data. RSA keys make RSA-PSS signatures with SHA-256; the type of another key determines the signature.
    [[nodiscard]] std::vector<std::byte> sign(Bytes secret, Bytes data) const;
    [[nodiscard]] bool verify(Bytes signer, Bytes data, Bytes signature) const;

    /// Throws Error unless a chain of certificates, the signer's first, leads to one of `trusted` or begins with
    /// one. Checks times, basic constraints and revocation lists. A certificate with a key usage must allow
    /// signatures; one with an extended key usage must allow code signing.
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
