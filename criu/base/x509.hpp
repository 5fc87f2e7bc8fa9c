// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "criu/base/crypto.hpp"
#include "criu/base/key_agreement.hpp"

/// Keys and certificates as other programs write them, and signatures made with them.
namespace criu::crypto {

/// A key or certificate in DER.
using Der = std::vector<std::byte>;

/// What a key is used for.
enum class KeyUse { Encryption, Signature };

/// By GnuTLS, which is loaded when the first object is made. Public keys are SubjectPublicKeyInfo, secret ones PKCS #8,
/// PKCS #1 (RSA) or SEC 1 (curves). Nothing of a secret key is ever put into a message. Several threads may use one
/// object. All functions throw Error.
class X509 {
public:
    X509();
    ~X509();
    X509(const X509&) = delete;
    X509& operator=(const X509&) = delete;

    /// What a PEM block holds, whose lines "BEGIN LABEL" and "END LABEL" are in `block`, too.
    [[nodiscard]] SecretBytes decodePem(std::string_view block, const std::string& label) const;

    /// The public key of a certificate, if it is valid now and may be used for that.
    [[nodiscard]] Der keyOf(Bytes certificate, KeyUse use) const;

    /// A key that something can be encrypted with: X25519, RSA of 2048 bits or more, or on a curve of FIPS 186.
    [[nodiscard]] PublicKey recipientOf(Bytes key) const;
    [[nodiscard]] SecretKey identityOf(Bytes secret) const;

    /// A key that can sign, in the form that is compared: Ed25519, Ed448, ECDSA, RSA of 2048 bits or more.
    [[nodiscard]] Der signerOf(Bytes key) const;
    /// The same of the public half of a secret key.
    [[nodiscard]] Der signerOfSecret(Bytes secret) const;
    /// An Ed25519 key of 32 bytes in the form that is compared.
    [[nodiscard]] static Der ed25519(Bytes raw);
    /// The 32 bytes of an Ed25519 key; none if it is another kind of key.
    [[nodiscard]] static Bytes rawEd25519(const Der& key) noexcept;

    /// The kind of signature follows from the key: RSA keys make RSA-PSS with SHA-256, others what their form says.
    [[nodiscard]] std::vector<std::byte> sign(Bytes secret, Bytes data) const;
    [[nodiscard]] bool verify(Bytes signer, Bytes data, Bytes signature) const;

    /// That a chain of certificates, the signer's first, leads to one of `trusted`, or that its first is one of them;
    /// with their times, basic constraints and revocation lists. Where a certificate says what for it may be used,
    /// that has to be signatures (key usage) of code (extended key usage).
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
