// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/crypto/crypto.hpp"

#include <gnutls/crypto.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include <algorithm>

#include "criu/base/crypto/gnutls.hpp"
#include "criu/base/error.hpp"

namespace criu::crypto {
namespace {

constexpr std::size_t kNonceSize = 12;

std::array<std::byte, kNonceSize> bytesOf(Nonce nonce) noexcept {
    std::array<std::byte, kNonceSize> bytes;
    std::copy_n(reinterpret_cast<const std::byte*>(&nonce.number), sizeof(nonce.number), bytes.begin());
    std::copy_n(reinterpret_cast<const std::byte*>(&nonce.purpose), sizeof(nonce.purpose),
                bytes.begin() + sizeof(nonce.number));
    return bytes;
}

}  // namespace

SecretBytes::SecretBytes(std::size_t size) : memory_(Mapping::anonymous(std::max<std::size_t>(size, 1))), size_(size) {
    (void)::madvise(memory_.data(), memory_.size(), MADV_DONTDUMP);
    lock();
}

void SecretBytes::lock() const noexcept {
    (void)::mlock(memory_.data(), memory_.size());
}

SecretBytes::~SecretBytes() {
    erase();
}

SecretBytes& SecretBytes::operator=(SecretBytes&& other) noexcept {
    if (this != &other) {
        erase();
        memory_ = std::move(other.memory_);
        size_ = other.size_;
    }
    return *this;
}

void SecretBytes::erase() noexcept {
    if (memory_.data() != nullptr)
        ::explicit_bzero(memory_.data(), memory_.size());
}

void randomize(std::span<std::byte> bytes) {
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
        failErrno("get random bytes");
}

struct Symmetric::Library : GnuTls {
    decltype(&::gnutls_aead_cipher_init) makeCipher = library["gnutls_aead_cipher_init"];
    decltype(&::gnutls_aead_cipher_deinit) freeCipher = library["gnutls_aead_cipher_deinit"];
    decltype(&::gnutls_aead_cipher_encrypt) encrypt = library["gnutls_aead_cipher_encrypt"];
    decltype(&::gnutls_aead_cipher_decrypt) decrypt = library["gnutls_aead_cipher_decrypt"];
    decltype(&::gnutls_hkdf_extract) extract = library["gnutls_hkdf_extract"];
    decltype(&::gnutls_hkdf_expand) expand = library["gnutls_hkdf_expand"];
    decltype(&::gnutls_hmac_fast) hmac = library["gnutls_hmac_fast"];
    decltype(&::gnutls_hash_fast) hash = library["gnutls_hash_fast"];
    decltype(&::gnutls_memcmp) compare = library["gnutls_memcmp"];

    /// Cipher handle of GnuTLS for one thread and one message.
    class Cipher {
    public:
        Cipher(const Library& library, Bytes key) : library_(library) {
            const gnutls_datum_t datum = datumOf(key);
            library.require(library.makeCipher(&cipher, GNUTLS_CIPHER_AES_256_GCM, &datum), "prepare AES-256-GCM");
        }
        ~Cipher() { library_.freeCipher(cipher); }
        Cipher(const Cipher&) = delete;
        Cipher& operator=(const Cipher&) = delete;

        gnutls_aead_cipher_hd_t cipher = nullptr;

    private:
        const Library& library_;
    };
};

Symmetric::Symmetric() : library_(std::make_unique<const Library>()) {}

Symmetric::~Symmetric() = default;

void Symmetric::seal(Bytes key, Nonce nonce, Bytes associated, Bytes plain, std::span<std::byte> sealed) const {
    const Library::Cipher cipher(*library_, key);
    const auto number = bytesOf(nonce);
    std::size_t size = sealed.size();
    library_->require(library_->encrypt(cipher.cipher, number.data(), number.size(), associated.data(),
                                        associated.size(), kTagSize, plain.data(), plain.size(), sealed.data(), &size),
                      "encrypt");
    if (size != plain.size() + kTagSize)
        fail("encrypt: {} bytes became {}", plain.size(), size);
}

bool Symmetric::open(Bytes key, Nonce nonce, Bytes associated, Bytes sealed, std::span<std::byte> plain) const {
    if (sealed.size() < kTagSize)
        return false;
    const Library::Cipher cipher(*library_, key);
    const auto number = bytesOf(nonce);
    std::size_t size = plain.size();
    return library_->decrypt(cipher.cipher, number.data(), number.size(), associated.data(), associated.size(),
                             kTagSize, sealed.data(), sealed.size(), plain.data(), &size) == 0 &&
           size == sealed.size() - kTagSize;
}

void Symmetric::derive(Bytes from, Bytes salt, std::string_view info, std::span<std::byte> key) const {
    const SecretBytes extracted(kHashSize);
    const gnutls_datum_t secret = datumOf(from);
    const gnutls_datum_t with = datumOf(salt);
    library_->require(library_->extract(GNUTLS_MAC_SHA256, &secret, &with, extracted.bytes().data()), "derive a key");
    const gnutls_datum_t middle = datumOf(extracted.bytes());
    const gnutls_datum_t purpose = datumOf(std::as_bytes(std::span(info)));
    library_->require(library_->expand(GNUTLS_MAC_SHA256, &middle, &purpose, key.data(), key.size()), "derive a key");
}

Hash Symmetric::mac(Bytes key, Bytes data) const {
    Hash out{};
    library_->require(library_->hmac(GNUTLS_MAC_SHA256, key.data(), key.size(), data.data(), data.size(), out.data()),
                      "make a MAC");
    return out;
}

bool Symmetric::isMac(Bytes key, Bytes data, const Hash& given) const {
    const Hash right = mac(key, data);
    return library_->compare(right.data(), given.data(), right.size()) == 0;
}

Hash Symmetric::hash(Bytes data) const {
    Hash out{};
    library_->require(library_->hash(GNUTLS_DIG_SHA256, data.data(), data.size(), out.data()), "hash");
    return out;
}

}  // namespace criu::crypto
