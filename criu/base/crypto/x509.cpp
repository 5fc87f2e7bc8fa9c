// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/crypto/x509.hpp"

#include <gnutls/abstract.h>
#include <gnutls/x509.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "criu/base/crypto/gnutls.hpp"
#include "criu/base/error.hpp"

namespace criu::crypto {
namespace {

constexpr unsigned kFewestRsaBits = 2048;
constexpr unsigned kMostRsaBits = 16384;

/// Bytes before a 32-byte key in SubjectPublicKeyInfo and PKCS #8 (RFC 8410). The last byte of the curve's identifier
/// is 0x6e for X25519 and 0x70 for Ed25519.
constexpr std::array<unsigned char, 12> kX25519Public{0x30, 0x2a, 0x30, 0x05, 0x06, 0x03,
                                                      0x2b, 0x65, 0x6e, 0x03, 0x21, 0x00};
constexpr std::array<unsigned char, 12> kEd25519Public{0x30, 0x2a, 0x30, 0x05, 0x06, 0x03,
                                                       0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};
constexpr std::array<unsigned char, 16> kX25519Secret{0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06,
                                                      0x03, 0x2b, 0x65, 0x6e, 0x04, 0x22, 0x04, 0x20};

template <std::size_t Size>
bool isKeyBehind(const std::array<unsigned char, Size>& prefix, Bytes key) noexcept {
    return key.size() == Size + kKeySize && ::memcmp(key.data(), prefix.data(), Size) == 0;
}

void requireRsaSize(unsigned bits) {
    if (bits < kFewestRsaBits || bits > kMostRsaBits)
        fail("it is an RSA key of {} bits, and {} to {} are taken", bits, kFewestRsaBits, kMostRsaBits);
}

KeyType typeOf(gnutls_ecc_curve_t curve) {
    switch (curve) {
        case GNUTLS_ECC_CURVE_SECP256R1:
            return KeyType::P256;
        case GNUTLS_ECC_CURVE_SECP384R1:
            return KeyType::P384;
        case GNUTLS_ECC_CURVE_SECP521R1:
            return KeyType::P521;
        default:
            fail(
                "it is a key on a curve that nothing is encrypted with here: P-256, P-384, P-521 and X25519 are taken");
    }
}

/// Appends a number with `size` bytes, with leading zeroes if it is shorter.
void append(std::vector<std::byte>& to, Bytes number, std::size_t size) {
    if (number.size() > size)
        fail("a number of the key has {} bytes instead of {}", number.size(), size);
    to.resize(to.size() + size - number.size());
    to.insert(to.end(), number.begin(), number.end());
}

}  // namespace

struct X509::Library : GnuTls {
    decltype(&::gnutls_pem_base64_decode2) decodePem = library["gnutls_pem_base64_decode2"];
    decltype(&::gnutls_pubkey_init) makePublic = library["gnutls_pubkey_init"];
    decltype(&::gnutls_pubkey_deinit) freePublic = library["gnutls_pubkey_deinit"];
    decltype(&::gnutls_pubkey_import) importPublic = library["gnutls_pubkey_import"];
    decltype(&::gnutls_pubkey_import_x509) importFromCertificate = library["gnutls_pubkey_import_x509"];
    decltype(&::gnutls_pubkey_import_privkey) importFromSecret = library["gnutls_pubkey_import_privkey"];
    decltype(&::gnutls_pubkey_verify_params) verifyNumbers = library["gnutls_pubkey_verify_params"];
    decltype(&::gnutls_pubkey_export2) exportPublic = library["gnutls_pubkey_export2"];
    decltype(&::gnutls_pubkey_get_pk_algorithm) algorithmOf = library["gnutls_pubkey_get_pk_algorithm"];
    decltype(&::gnutls_pubkey_get_preferred_hash_algorithm) hashFor =
        library["gnutls_pubkey_get_preferred_hash_algorithm"];
    decltype(&::gnutls_pubkey_export_rsa_raw2) exportPublicRsa = library["gnutls_pubkey_export_rsa_raw2"];
    decltype(&::gnutls_pubkey_export_ecc_raw2) exportPublicCurve = library["gnutls_pubkey_export_ecc_raw2"];
    decltype(&::gnutls_pubkey_verify_data2) verify = library["gnutls_pubkey_verify_data2"];
    decltype(&::gnutls_pk_to_sign) signatureOf = library["gnutls_pk_to_sign"];
    decltype(&::gnutls_privkey_init) makeSecret = library["gnutls_privkey_init"];
    decltype(&::gnutls_privkey_deinit) freeSecret = library["gnutls_privkey_deinit"];
    decltype(&::gnutls_privkey_import_x509_raw) importSecret = library["gnutls_privkey_import_x509_raw"];
    decltype(&::gnutls_privkey_export_rsa_raw2) exportSecretRsa = library["gnutls_privkey_export_rsa_raw2"];
    decltype(&::gnutls_privkey_export_ecc_raw2) exportSecretCurve = library["gnutls_privkey_export_ecc_raw2"];
    decltype(&::gnutls_privkey_sign_data2) sign = library["gnutls_privkey_sign_data2"];
    decltype(&::gnutls_x509_crt_init) makeCertificate = library["gnutls_x509_crt_init"];
    decltype(&::gnutls_x509_crt_deinit) freeCertificate = library["gnutls_x509_crt_deinit"];
    decltype(&::gnutls_x509_crt_import) importCertificate = library["gnutls_x509_crt_import"];
    decltype(&::gnutls_x509_crt_get_activation_time) validFrom = library["gnutls_x509_crt_get_activation_time"];
    decltype(&::gnutls_x509_crt_get_expiration_time) validUntil = library["gnutls_x509_crt_get_expiration_time"];
    decltype(&::gnutls_x509_crt_get_key_usage) usageOf = library["gnutls_x509_crt_get_key_usage"];
    decltype(&::gnutls_x509_crl_init) makeRevocations = library["gnutls_x509_crl_init"];
    decltype(&::gnutls_x509_crl_deinit) freeRevocations = library["gnutls_x509_crl_deinit"];
    decltype(&::gnutls_x509_crl_import) importRevocations = library["gnutls_x509_crl_import"];
    decltype(&::gnutls_x509_trust_list_init) makeTrustList = library["gnutls_x509_trust_list_init"];
    decltype(&::gnutls_x509_trust_list_deinit) freeTrustList = library["gnutls_x509_trust_list_deinit"];
    decltype(&::gnutls_x509_trust_list_add_cas) addTrusted = library["gnutls_x509_trust_list_add_cas"];
    decltype(&::gnutls_x509_trust_list_add_crls) addRevocations = library["gnutls_x509_trust_list_add_crls"];
    decltype(&::gnutls_x509_trust_list_verify_crt2) verifyChain = library["gnutls_x509_trust_list_verify_crt2"];
};

/// Bytes that GnuTLS allocated. The destructor overwrites and frees them.
class X509::Datum {
public:
    explicit Datum(const Library& library) noexcept : library_(library) {}
    ~Datum() {
        if (value.data != nullptr)
            ::explicit_bzero(value.data, value.size);
        (*library_.freeMemory)(value.data);
    }
    Datum(const Datum&) = delete;
    Datum& operator=(const Datum&) = delete;

    [[nodiscard]] Bytes bytes() const noexcept { return std::as_bytes(std::span(value.data, value.size)); }

    gnutls_datum_t value{nullptr, 0};

private:
    const Library& library_;
};

/// Object of GnuTLS, which the destructor frees.
template <typename T>
class X509::Handle {
public:
    template <typename Make, typename... Options>
    Handle(const Library& library, std::string_view what, Make make, void (*free)(T), Options... options)
        : library_(library), free_(free) {
        library.require(make(&value, options...), what);
    }
    ~Handle() {
        if (value != nullptr)
            free_(value);
    }
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;

    /// Fills the object from bytes by the GnuTLS function `take`. Throws Error with the message `what` if this fails.
    template <typename Take, typename... Options>
    void import(Bytes bytes, std::string_view what, Take take, Options... options) const {
        const gnutls_datum_t datum = datumOf(bytes);
        library_.require(take(value, &datum, GNUTLS_X509_FMT_DER, options...), what);
    }

    /// Ends the ownership, because a list of GnuTLS now owns the object.
    void release() noexcept { value = nullptr; }

    T value = nullptr;

protected:
    const Library& library_;

private:
    void (*free_)(T);
};

class X509::Certificate : public Handle<gnutls_x509_crt_t> {
public:
    Certificate(const Library& library, Bytes der)
        : Handle(library, "prepare a certificate", library.makeCertificate, library.freeCertificate) {
        import(der, "it isn't a certificate", library.importCertificate);
    }

    /// Throws Error if the key usage of the certificate doesn't allow `needed`. A certificate without a key usage
    /// allows everything.
    void requireUsage(unsigned needed) const {
        unsigned usage = 0;
        unsigned critical = 0;
        const int result = library_.usageOf(value, &usage, &critical);
        if (result == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE)
            return;
        library_.require(result, "look at a certificate's key usage");
        if ((usage & needed) == 0)
            fail("the certificate is for other uses (key usage {:#x})", usage);
    }
};

class X509::PublicHandle : public Handle<gnutls_pubkey_t> {
public:
    explicit PublicHandle(const Library& library)
        : Handle(library, "prepare a key", library.makePublic, library.freePublic) {}
    PublicHandle(const Library& library, Bytes key) : PublicHandle(library) {
        import(key, "it isn't a public key", library.importPublic);
    }

    [[nodiscard]] Der der() const {
        Datum out(library_);
        library_.require(library_.exportPublic(value, GNUTLS_X509_FMT_DER, &out.value), "export a key");
        return {out.bytes().begin(), out.bytes().end()};
    }

    /// Returns the signature algorithm that criu uses with this key. Throws Error if the key can't sign.
    [[nodiscard]] gnutls_sign_algorithm_t signature() const {
        unsigned bits = 0;
        const int algorithm = library_.algorithmOf(value, &bits);
        library_.require(algorithm, "look at a key");
        gnutls_digest_algorithm_t hash = GNUTLS_DIG_SHA256;
        switch (algorithm) {
            case GNUTLS_PK_EDDSA_ED25519:
                return GNUTLS_SIGN_EDDSA_ED25519;
            case GNUTLS_PK_EDDSA_ED448:
                return GNUTLS_SIGN_EDDSA_ED448;
            case GNUTLS_PK_RSA:
                requireRsaSize(bits);
                return GNUTLS_SIGN_RSA_PSS_SHA256;
            case GNUTLS_PK_RSA_PSS:
                requireRsaSize(bits);
                break;
            case GNUTLS_PK_ECDSA:
                break;
            default:
                fail("it is a key of a kind that nothing is signed with here: Ed25519, ECDSA and RSA are taken");
        }
        library_.require(library_.hashFor(value, &hash, nullptr), "choose a hash for a key");
        const gnutls_sign_algorithm_t chosen =
            library_.signatureOf(static_cast<gnutls_pk_algorithm_t>(algorithm), hash);
        if (chosen == GNUTLS_SIGN_UNKNOWN)
            fail("it is a key whose signatures GnuTLS doesn't know");
        return chosen;
    }
};

class X509::SecretHandle : public Handle<gnutls_privkey_t> {
public:
    SecretHandle(const Library& library, Bytes secret)
        : Handle(library, "prepare a key", library.makeSecret, library.freeSecret) {
        import(secret, "it isn't a secret key", library.importSecret, nullptr, 0U);
    }

    void exportPublic(const PublicHandle& into) const {
        library_.require(library_.importFromSecret(into.value, value, 0, 0), "find a public key");
    }
};

class X509::TrustList {
public:
    explicit TrustList(const Library& library) : library_(library) {
        library.require(library.makeTrustList(&value, 0), "prepare a list of certificates");
    }
    ~TrustList() { library_.freeTrustList(value, 1); }
    TrustList(const TrustList&) = delete;
    TrustList& operator=(const TrustList&) = delete;

    /// Adds a trusted certificate, which the list then owns.
    void addTrusted(Bytes der) const {
        Certificate certificate(library_, der);
        if (library_.addTrusted(value, &certificate.value, 1, 0) != 1)
            fail("GnuTLS doesn't take a certificate into its list");
        certificate.release();
    }
    void addRevocations(Bytes der) const {
        Handle<gnutls_x509_crl_t> list(library_, "prepare a revocation list", library_.makeRevocations,
                                       library_.freeRevocations);
        list.import(der, "it isn't a revocation list", library_.importRevocations);
        constexpr unsigned kStrict = GNUTLS_TL_VERIFY_CRL | GNUTLS_TL_FAIL_ON_INVALID_CRL;
        if (library_.addRevocations(value, &list.value, 1, kStrict, 0) != 1)
            fail("a revocation list isn't of one of the authorities");
        list.release();
    }

    gnutls_x509_trust_list_t value = nullptr;

private:
    const Library& library_;
};

X509::X509() : library_(std::make_unique<const Library>()) {}

X509::~X509() = default;

SecretBytes X509::decodePem(std::string_view block, const std::string& label) const {
    const gnutls_datum_t text = datumOf(std::as_bytes(std::span(block)));
    Datum out(*library_);
    const int result = library_->decodePem(label.c_str(), &text, &out.value);
    if (result < 0 || out.value.size == 0)
        fail("a PEM block is damaged");
    SecretBytes bytes(out.value.size);
    std::copy(out.bytes().begin(), out.bytes().end(), bytes.bytes().begin());
    return bytes;
}

Der X509::keyOf(Bytes certificate, KeyUse use) const {
    const Certificate opened(*library_, certificate);
    const std::time_t now = std::time(nullptr);
    if (now < library_->validFrom(opened.value))
        fail("the certificate isn't valid yet");
    if (now > library_->validUntil(opened.value))
        fail("the certificate has expired");
    const PublicHandle key(*library_);
    library_->require(library_->importFromCertificate(key.value, opened.value, 0), "take the key of a certificate");
    if (use == KeyUse::Signature)
        opened.requireUsage(GNUTLS_KEY_DIGITAL_SIGNATURE);
    else if (library_->algorithmOf(key.value, nullptr) == GNUTLS_PK_RSA)
        opened.requireUsage(GNUTLS_KEY_KEY_ENCIPHERMENT);
    else
        opened.requireUsage(GNUTLS_KEY_KEY_AGREEMENT);
    return key.der();
}

PublicKey X509::recipientOf(Bytes der) const {
    if (isKeyBehind(kX25519Public, der)) {
        const Bytes raw = der.last(kKeySize);
        return {KeyType::X25519, {raw.begin(), raw.end()}, {}};
    }
    const PublicHandle key(*library_, der);
    library_->require(library_->verifyNumbers(key.value), "a public key isn't one");
    unsigned bits = 0;
    Datum first(*library_);
    Datum second(*library_);
    switch (library_->algorithmOf(key.value, &bits)) {
        case GNUTLS_PK_RSA:
            requireRsaSize(bits);
            library_->require(
                library_->exportPublicRsa(key.value, &first.value, &second.value, GNUTLS_EXPORT_FLAG_NO_LZ),
                "export a key");
            return {KeyType::Rsa,
                    {first.bytes().begin(), first.bytes().end()},
                    {second.bytes().begin(), second.bytes().end()}};
        case GNUTLS_PK_ECDSA: {
            gnutls_ecc_curve_t curve = GNUTLS_ECC_CURVE_INVALID;
            library_->require(
                library_->exportPublicCurve(key.value, &curve, &first.value, &second.value, GNUTLS_EXPORT_FLAG_NO_LZ),
                "export a key");
            PublicKey point{typeOf(curve), {kUncompressed}, {}};
            append(point.bytes, first.bytes(), scalarSize(point.type));
            append(point.bytes, second.bytes(), scalarSize(point.type));
            return point;
        }
        default:
            fail(
                "it is a key of a kind that nothing is encrypted with here: X25519, RSA, P-256, P-384 and P-521 are "
                "taken");
    }
}

SecretKey X509::identityOf(Bytes der) const {
    if (isKeyBehind(kX25519Secret, der)) {
        SecretKey key{{}, SecretBytes(kKeySize)};
        std::copy_n(der.end() - kKeySize, kKeySize, key.secret.bytes().begin());
        key.own = KeyAgreement().publicOf(key.secret.bytes());
        return key;
    }
    const SecretHandle opened(*library_, der);
    const PublicHandle half(*library_);
    opened.exportPublic(half);
    SecretKey key{recipientOf(half.der()), SecretBytes(0)};
    Datum number(*library_);
    if (key.own.type == KeyType::Rsa) {
        Datum modulus(*library_);
        Datum exponent(*library_);
        library_->require(
            library_->exportSecretRsa(opened.value, &modulus.value, &exponent.value, &number.value, nullptr, nullptr,
                                      nullptr, nullptr, nullptr, GNUTLS_EXPORT_FLAG_NO_LZ),
            "export a key");
        key.secret = SecretBytes(number.value.size);
    } else {
        Datum x(*library_);
        Datum y(*library_);
        gnutls_ecc_curve_t curve = GNUTLS_ECC_CURVE_INVALID;
        library_->require(library_->exportSecretCurve(opened.value, &curve, &x.value, &y.value, &number.value,
                                                      GNUTLS_EXPORT_FLAG_NO_LZ),
                          "export a key");
        key.secret = SecretBytes(scalarSize(key.own.type));
    }
    const std::span<std::byte> into = key.secret.bytes();
    if (number.bytes().size() > into.size())
        fail("a number of the key has {} bytes instead of {}", number.bytes().size(), into.size());
    std::copy(number.bytes().begin(), number.bytes().end(), into.end() - static_cast<int>(number.bytes().size()));
    return key;
}

Der X509::signerOf(Bytes der) const {
    const PublicHandle key(*library_, der);
    (void)key.signature();
    return key.der();
}

Der X509::signerOfSecret(Bytes secret) const {
    if (isKeyBehind(kX25519Secret, secret))
        fail("it is an X25519 key, which can't sign");
    const SecretHandle opened(*library_, secret);
    const PublicHandle key(*library_);
    opened.exportPublic(key);
    (void)key.signature();
    return key.der();
}

Der X509::ed25519(Bytes raw) {
    const Bytes prefix = std::as_bytes(std::span(kEd25519Public));
    Der key(prefix.size() + raw.size());
    std::copy(raw.begin(), raw.end(), std::copy(prefix.begin(), prefix.end(), key.begin()));
    return key;
}

Bytes X509::rawEd25519(const Der& key) noexcept {
    return isKeyBehind(kEd25519Public, key) ? Bytes(key).last(kKeySize) : Bytes();
}

std::vector<std::byte> X509::sign(Bytes secret, Bytes data) const {
    const SecretHandle opened(*library_, secret);
    const PublicHandle key(*library_);
    opened.exportPublic(key);
    const gnutls_datum_t all = datumOf(data);
    Datum out(*library_);
    library_->require(library_->sign(opened.value, key.signature(), 0, &all, &out.value), "sign");
    return {out.bytes().begin(), out.bytes().end()};
}

bool X509::verify(Bytes signer, Bytes data, Bytes signature) const {
    const PublicHandle key(*library_, signer);
    const gnutls_datum_t all = datumOf(data);
    const gnutls_datum_t made = datumOf(signature);
    return library_->verify(key.value, key.signature(), 0, &all, &made) >= 0;
}

void X509::requireTrusted(std::span<const Der> chain, std::span<const Der> trusted,
                          std::span<const Der> revocations) const {
    const TrustList list(*library_);
    for (const Der& each : trusted)
        list.addTrusted(each);
    for (const Der& each : revocations)
        list.addRevocations(each);
    std::vector<std::unique_ptr<Certificate>> opened;
    std::vector<gnutls_x509_crt_t> certificates;
    for (const Der& each : chain)
        certificates.push_back(opened.emplace_back(std::make_unique<Certificate>(*library_, each))->value);
    if (certificates.empty())
        fail("there is no certificate");
    opened.front()->requireUsage(GNUTLS_KEY_DIGITAL_SIGNATURE);
    gnutls_typed_vdata_st purpose{};
    purpose.type = GNUTLS_DT_KEY_PURPOSE_OID;
    purpose.data = reinterpret_cast<unsigned char*>(const_cast<char*>(GNUTLS_KP_CODE_SIGNING));
    unsigned status = 0;
    library_->require(
        library_->verifyChain(list.value, certificates.data(), static_cast<unsigned>(certificates.size()), &purpose, 1,
                              GNUTLS_PROFILE_TO_VFLAGS(GNUTLS_PROFILE_MEDIUM), &status, nullptr),
        "verify a chain of certificates");
    if (status != 0)
        fail("{}", library_->describeStatus(status));
}

}  // namespace criu::crypto
