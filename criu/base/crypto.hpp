// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "criu/base/mapping.hpp"

/// Ciphers and hashes of GnuTLS. The first object loads the library, so a run without encryption doesn't load it.
namespace criu::crypto {

using Bytes = std::span<const std::byte>;

inline constexpr std::size_t kKeySize = 32;   ///< bytes of symmetric, X25519 and Ed25519 keys
inline constexpr std::size_t kTagSize = 16;   ///< additional bytes of sealed data
inline constexpr std::size_t kHashSize = 32;  ///< bytes of SHA-256

using Hash = std::array<std::byte, kHashSize>;

/// Memory for secrets. The kernel doesn't write it to swap (as far as RLIMIT_MEMLOCK allows) or to a core file. The
/// destructor fills it with zeroes.
class SecretBytes {
public:
    /// Allocates zeroes. Throws Error.
    explicit SecretBytes(std::size_t size);
    ~SecretBytes();
    SecretBytes(SecretBytes&&) noexcept = default;
    SecretBytes& operator=(SecretBytes&& other) noexcept;
    SecretBytes(const SecretBytes&) = delete;
    SecretBytes& operator=(const SecretBytes&) = delete;

    /// Locks the copy in a child process: mlock(2) doesn't apply to children, so the kernel could write the copy to
    /// swap.
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

/// A number that each key uses only once.
struct Nonce {
    std::uint64_t number = 0;
    std::uint32_t purpose = 0;
};

/// Functions that need one key only: AES-256-GCM, HKDF and HMAC with SHA-256. Several threads may use one object.
class Symmetric {
public:
    /// Throws Error if GnuTLS isn't installed.
    Symmetric();
    ~Symmetric();
    Symmetric(const Symmetric&) = delete;
    Symmetric& operator=(const Symmetric&) = delete;

    /// Encrypts `plain` into `sealed`, which is kTagSize longer. open() detects any change of `sealed` or
    /// `associated`. Throws Error.
    void seal(Bytes key, Nonce nonce, Bytes associated, Bytes plain, std::span<std::byte> sealed) const;
    /// Decrypts `sealed` into `plain`, which is kTagSize shorter. Returns false unless seal() made these bytes with
    /// the same key, nonce and `associated`; `plain` is undefined then.
    [[nodiscard]] bool open(Bytes key, Nonce nonce, Bytes associated, Bytes sealed, std::span<std::byte> plain) const;

    /// Derives a key from another one (HKDF). `info` names the purpose of the key. Throws Error.
    void derive(Bytes from, Bytes salt, std::string_view info, std::span<std::byte> key) const;
    [[nodiscard]] Hash mac(Bytes key, Bytes data) const;
    /// True if the key makes this MAC. Compares in constant time, so the duration doesn't reveal the correct MAC.
    [[nodiscard]] bool isMac(Bytes key, Bytes data, const Hash& given) const;
    [[nodiscard]] Hash hash(Bytes data) const;

private:
    struct Library;
    std::unique_ptr<const Library> library_;
};

}  // namespace criu::crypto
