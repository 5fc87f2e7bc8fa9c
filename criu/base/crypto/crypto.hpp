// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "criu/base/mapping.hpp"

/// Ciphers and hashes of GnuTLS. criu loads the library when it creates the first object, so a run without encryption
/// doesn't load it.
namespace criu::crypto {

using Bytes = std::span<const std::byte>;

inline constexpr std::size_t kKeySize = 32;   ///< size of symmetric, X25519 and Ed25519 keys in bytes
inline constexpr std::size_t kTagSize = 16;   ///< number of bytes by which sealed data are longer than plain data
inline constexpr std::size_t kHashSize = 32;  ///< size of a SHA-256 hash in bytes

using Hash = std::array<std::byte, kHashSize>;

/// Memory for secrets. The kernel doesn't write this memory to a core file, and not to swap as far as RLIMIT_MEMLOCK
/// allows. The destructor fills it with zeroes.
class SecretBytes {
public:
    /// Allocates `size` bytes of zeroes. Throws Error.
    explicit SecretBytes(std::size_t size);
    ~SecretBytes();
    SecretBytes(SecretBytes&&) noexcept = default;
    SecretBytes& operator=(SecretBytes&& other) noexcept;
    SecretBytes(const SecretBytes&) = delete;
    SecretBytes& operator=(const SecretBytes&) = delete;

    /// Locks the memory in a child process. A child doesn't inherit locks of mlock(2), so without this call the kernel
    /// could write the child's copy to swap.
    void lock() const noexcept;

    [[nodiscard]] std::span<std::byte> bytes() const noexcept {
        return memory_.bytes().first(memory_.size() < size_ ? 0 : size_);
    }

private:
    void erase() noexcept;

    Mapping memory_;
    std::size_t size_;
};

/// Fills the range with random bytes. Throws Error.
void randomize(std::span<std::byte> bytes);

/// Number that may be used only once with each key.
struct Nonce {
    std::uint64_t number = 0;
    std::uint32_t purpose = 0;
};

/// Functions for a single key: AES-256-GCM, and HKDF and HMAC with SHA-256. Several threads may use one object.
class Symmetric {
public:
    /// Loads GnuTLS. Throws Error if it isn't installed.
    Symmetric();
    ~Symmetric();
    Symmetric(const Symmetric&) = delete;
    Symmetric& operator=(const Symmetric&) = delete;

    /// Encrypts `plain` into `sealed`, which must be kTagSize bytes longer. open() detects every change of `sealed` and
    /// of `associated`, which isn't encrypted. Throws Error.
    void seal(Bytes key, Nonce nonce, Bytes associated, Bytes plain, std::span<std::byte> sealed) const;
    /// Decrypts `sealed` into `plain`, which must be kTagSize bytes shorter. Returns false if seal() didn't create
    /// these bytes with the same key, nonce and `associated`; then `plain` has undefined content.
    [[nodiscard]] bool open(Bytes key, Nonce nonce, Bytes associated, Bytes sealed, std::span<std::byte> plain) const;

    /// Derives a key from another key (HKDF). `info` names the purpose of the new key. Throws Error.
    void derive(Bytes from, Bytes salt, std::string_view info, std::span<std::byte> key) const;
    [[nodiscard]] Hash mac(Bytes key, Bytes data) const;
    /// Returns true if `given` is the MAC of `data` with this key. Compares in constant time, so that the duration
    /// doesn't reveal the correct MAC.
    [[nodiscard]] bool isMac(Bytes key, Bytes data, const Hash& given) const;
    [[nodiscard]] Hash hash(Bytes data) const;

private:
    struct Library;
    std::unique_ptr<const Library> library_;
};

}  // namespace criu::crypto
