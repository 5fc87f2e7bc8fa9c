// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/crypto/key_agreement.hpp"

#include <gcrypt.h>

#include <algorithm>
#include <mutex>

#include "criu/base/error.hpp"
#include "criu/base/shared_library.hpp"

namespace criu::crypto {
namespace {

/// Size of libgcrypt's locked memory for secrets, in bytes. Computations with an RSA key of 16384 bits need about 30
/// KiB.
constexpr int kSecureMemory = 128 << 10;

/// Elliptic curve: its name in libgcrypt, and the size of one coordinate or scalar in bytes.
struct Curve {
    const char* name;
    std::size_t size;
    std::byte highest;  ///< mask of the bits that may be set in the first byte of a scalar
};

Curve curveOf(KeyType type) noexcept {
    const char* const name = type == KeyType::P256 ? "NIST P-256" : type == KeyType::P384 ? "NIST P-384" : "NIST P-521";
    return {name, scalarSize(type), std::byte(type == KeyType::P521 ? 1 : 0xff)};
}

bool isPoint(Bytes bytes, const Curve& curve) noexcept {
    return bytes.size() == 1 + 2 * curve.size && bytes.front() == kUncompressed;
}

const unsigned char* octets(Bytes bytes) noexcept {
    return reinterpret_cast<const unsigned char*>(bytes.data());
}

unsigned char* roomOf(std::span<std::byte> bytes) noexcept {
    return reinterpret_cast<unsigned char*>(bytes.data());
}

}  // namespace

struct KeyAgreement::Library {
    SharedLibrary library{"libgcrypt.so.20", "libgcrypt20"};
    decltype(&::gcry_check_version) checkVersion = library["gcry_check_version"];
    decltype(&::gcry_control) control = library["gcry_control"];
    decltype(&::gcry_strerror) describe = library["gcry_strerror"];
    decltype(&::gcry_malloc_secure) allocateSecure = library["gcry_malloc_secure"];
    decltype(&::gcry_free) freeMemory = library["gcry_free"];
    decltype(&::gcry_ecc_mul_point) multiply = library["gcry_ecc_mul_point"];
    decltype(&::gcry_sexp_build) build = library["gcry_sexp_build"];
    decltype(&::gcry_sexp_release) release = library["gcry_sexp_release"];
    decltype(&::gcry_sexp_find_token) findToken = library["gcry_sexp_find_token"];
    decltype(&::gcry_sexp_nth_data) nthData = library["gcry_sexp_nth_data"];
    decltype(&::gcry_pk_encrypt) encrypt = library["gcry_pk_encrypt"];
    decltype(&::gcry_pk_decrypt) decrypt = library["gcry_pk_decrypt"];

    Library() {
        // Requires libgcrypt 1.9, the first version with gcry_ecc_mul_point(). Initializes the library once per
        // process.
        static std::once_flag once;
        std::call_once(once, [this] {
            if (checkVersion("1.9.0") == nullptr)
                fail("libgcrypt is older than 1.9");
            if (control(GCRYCTL_INITIALIZATION_FINISHED_P) != 0)
                return;
            // Without these two settings, libgcrypt drops the privileges of a setuid program, and prints warnings about
            // RLIMIT_MEMLOCK.
            control(GCRYCTL_DISABLE_PRIV_DROP, 0);
            control(GCRYCTL_SUSPEND_SECMEM_WARN, 0);
            control(GCRYCTL_INIT_SECMEM, kSecureMemory, 0);
            control(GCRYCTL_INITIALIZATION_FINISHED, 0);
        });
    }

    void require(gcry_error_t result, const char* what) const {
        if (result != 0)
            fail("{}: {}", what, describe(result));
    }

    /// Copy of secret bytes in libgcrypt's secure memory. libgcrypt overwrites this memory when it frees it, and does
    /// so for all results that it computes from secrets.
    class Secret {
    public:
        Secret(const Library& library, Bytes bytes)
            : library_(library), data_(library.allocateSecure(std::max<std::size_t>(bytes.size(), 1))) {
            if (data_ == nullptr)
                fail("libgcrypt has no memory for secrets");
            std::copy(bytes.begin(), bytes.end(), static_cast<std::byte*>(data_));
        }
        ~Secret() { library_.freeMemory(data_); }
        Secret(const Secret&) = delete;
        Secret& operator=(const Secret&) = delete;
        [[nodiscard]] const void* data() const noexcept { return data_; }

    private:
        const Library& library_;
        void* const data_;
    };
};

/// S-expression of libgcrypt, which the destructor frees.
class KeyAgreement::Expression {
public:
    explicit Expression(const Library& library) noexcept : library_(library) {}
    template <typename... Args>
    Expression(const Library& library, const char* format, Args... args) : library_(library) {
        library.require(library.build(&value, nullptr, format, args...), "put a key into libgcrypt's form");
    }
    ~Expression() { library_.release(value); }
    Expression(const Expression&) = delete;
    Expression& operator=(const Expression&) = delete;

    /// Calls `take` with the value of the element `name`. Throws Error if the element doesn't exist.
    template <typename Take>
    void with(const char* name, const Take& take) const {
        Expression found(library_);
        found.value = library_.findToken(value, name, 0);
        std::size_t size = 0;
        const char* const data = found.value == nullptr ? nullptr : library_.nthData(found.value, 1, &size);
        if (data == nullptr)
            fail("libgcrypt has left out {}", name);
        take(std::as_bytes(std::span(data, size)));
    }

    gcry_sexp_t value = nullptr;

private:
    const Library& library_;
};

namespace {

int lengthOf(Bytes bytes) noexcept {
    return static_cast<int>(bytes.size());
}

/// Copies bytes to the end of `into`, and fills the space before them with zeroes.
template <typename Into>
void copyToEnd(Bytes from, Into&& into) {
    if (from.size() > into.size())
        fail("a number of libgcrypt has {} bytes instead of {}", from.size(), into.size());
    std::copy(from.begin(), from.end(), into.begin() + static_cast<std::ptrdiff_t>(into.size() - from.size()));
}

/// Returns the first coordinate of a point, which is the shared secret of ECDH (SEC 1, 3.3.1).
SecretBytes firstCoordinate(Bytes point, const Curve& curve) {
    if (!isPoint(point, curve))
        fail("a point of libgcrypt has another form than expected");
    SecretBytes shared(curve.size);
    std::copy_n(point.begin() + 1, curve.size, shared.bytes().begin());
    return shared;
}

void requireSecret(Bytes shared) {
    if (std::all_of(shared.begin(), shared.end(), [](std::byte each) { return each == std::byte{}; }))
        fail("a public key is one that has no secret");
}

}  // namespace

KeyAgreement::KeyAgreement() : library_(std::make_unique<const Library>()) {}

KeyAgreement::~KeyAgreement() = default;

PublicKey KeyAgreement::publicOf(Bytes secret) const {
    PublicKey key{KeyType::X25519, std::vector<std::byte>(kKeySize), {}};
    library_->require(library_->multiply(GCRY_ECC_CURVE25519, roomOf(key.bytes), octets(secret), nullptr),
                      "find a public key");
    return key;
}

KeyAgreement::Agreed KeyAgreement::agree(const PublicKey& with) const {
    switch (with.type) {
        case KeyType::X25519:
            return agreeX25519(with);
        case KeyType::Rsa:
            return agreeRsa(with);
        default:
            return agreeOnCurve(with);
    }
}

std::optional<SecretBytes> KeyAgreement::recover(const SecretKey& own, Bytes share) const {
    switch (own.own.type) {
        case KeyType::X25519:
            return recoverX25519(own, share);
        case KeyType::Rsa:
            return recoverRsa(own, share);
        default:
            return recoverOnCurve(own, share);
    }
}

KeyAgreement::Agreed KeyAgreement::agreeX25519(const PublicKey& with) const {
    if (with.bytes.size() != kKeySize)
        fail("an X25519 key has {} bytes", with.bytes.size());
    SecretKey ephemeral{{}, SecretBytes(kKeySize)};
    randomize(ephemeral.secret.bytes());
    std::optional<SecretBytes> shared = recoverX25519(ephemeral, with.bytes);
    return {publicOf(ephemeral.secret.bytes()).bytes, std::move(*shared)};
}

std::optional<SecretBytes> KeyAgreement::recoverX25519(const SecretKey& own, Bytes share) const {
    if (share.size() != kKeySize)
        return std::nullopt;
    SecretBytes shared(kKeySize);
    library_->require(
        library_->multiply(GCRY_ECC_CURVE25519, roomOf(shared.bytes()), octets(own.secret.bytes()), octets(share)),
        "agree on a key");
    requireSecret(shared.bytes());
    return shared;
}

KeyAgreement::Agreed KeyAgreement::agreeOnCurve(const PublicKey& with) const {
    const Curve curve = curveOf(with.type);
    if (!isPoint(with.bytes, curve))
        fail("a key isn't a point of {}", curve.name);
    // The scalar is a random number of the size of the curve's order. It exceeds the order with a probability of at
    // most 2^-32 (P-256). This is harmless, because libgcrypt uses the remainder.
    const SecretBytes scalar(curve.size);
    randomize(scalar.bytes());
    scalar.bytes().front() &= curve.highest;
    const Library::Secret number(*library_, scalar.bytes());
    const Expression key(*library_, "(public-key(ecdh(curve %s)(q %b)))", curve.name, lengthOf(with.bytes),
                         static_cast<const void*>(with.bytes.data()));
    const Expression data(*library_, "(data(flags raw)(value %b))", lengthOf(scalar.bytes()), number.data());
    Expression result(*library_);
    library_->require(library_->encrypt(&result.value, data.value, key.value), "agree on a key");
    Agreed agreed{{}, SecretBytes(curve.size)};
    result.with("e", [&](Bytes point) { agreed.share.assign(point.begin(), point.end()); });
    result.with("s", [&](Bytes point) { agreed.secret = firstCoordinate(point, curve); });
    if (!isPoint(agreed.share, curve))
        fail("a point of libgcrypt has another form than expected");
    return agreed;
}

std::optional<SecretBytes> KeyAgreement::recoverOnCurve(const SecretKey& own, Bytes share) const {
    const Curve curve = curveOf(own.own.type);
    if (!isPoint(share, curve))
        return std::nullopt;
    const Library::Secret number(*library_, own.secret.bytes());
    const Expression key(*library_, "(private-key(ecdh(curve %s)(q %b)(d %b)))", curve.name, lengthOf(own.own.bytes),
                         static_cast<const void*>(own.own.bytes.data()), lengthOf(own.secret.bytes()), number.data());
    const Expression data(*library_, "(enc-val(ecdh(e %b)))", lengthOf(share), static_cast<const void*>(share.data()));
    Expression result(*library_);
    // libgcrypt refuses a share that isn't a point of the curve (ecc_decrypt_raw() checks this since 1.8).
    if (library_->decrypt(&result.value, data.value, key.value) != 0)
        return std::nullopt;
    SecretBytes shared(curve.size);
    result.with("value", [&](Bytes point) { shared = firstCoordinate(point, curve); });
    return shared;
}

KeyAgreement::Agreed KeyAgreement::agreeRsa(const PublicKey& with) const {
    Agreed agreed{std::vector<std::byte>(with.bytes.size()), SecretBytes(kKeySize)};
    randomize(agreed.secret.bytes());
    const Library::Secret secret(*library_, agreed.secret.bytes());
    const Expression key(*library_, "(public-key(rsa(n %b)(e %b)))", lengthOf(with.bytes),
                         static_cast<const void*>(with.bytes.data()), lengthOf(with.exponent),
                         static_cast<const void*>(with.exponent.data()));
    const Expression data(*library_, "(data(flags oaep)(hash-algo sha256)(value %b))", lengthOf(agreed.secret.bytes()),
                          secret.data());
    Expression result(*library_);
    library_->require(library_->encrypt(&result.value, data.value, key.value), "encrypt with an RSA key");
    result.with("a", [&](Bytes number) {
        // libgcrypt may put a zero byte before a number whose highest bit is set.
        copyToEnd(number.size() > agreed.share.size() && number.front() == std::byte{} ? number.subspan(1) : number,
                  agreed.share);
    });
    return agreed;
}

std::optional<SecretBytes> KeyAgreement::recoverRsa(const SecretKey& own, Bytes share) const {
    if (share.size() != own.own.bytes.size())
        return std::nullopt;
    const Library::Secret exponent(*library_, own.secret.bytes());
    const Expression key(*library_, "(private-key(rsa(n %b)(e %b)(d %b)))", lengthOf(own.own.bytes),
                         static_cast<const void*>(own.own.bytes.data()), lengthOf(own.own.exponent),
                         static_cast<const void*>(own.own.exponent.data()), lengthOf(own.secret.bytes()),
                         exponent.data());
    const Expression data(*library_, "(enc-val(flags oaep)(hash-algo sha256)(rsa(a %b)))", lengthOf(share),
                          static_cast<const void*>(share.data()));
    Expression result(*library_);
    if (library_->decrypt(&result.value, data.value, key.value) != 0)
        return std::nullopt;
    std::optional<SecretBytes> shared;
    result.with("value", [&](Bytes value) {
        if (value.size() != kKeySize)
            return;
        shared.emplace(kKeySize);
        std::copy(value.begin(), value.end(), shared->bytes().begin());
    });
    return shared;
}

}  // namespace criu::crypto
