// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "criu/base/mapping.hpp"

/// Ciphers and hashes, by GnuTLS, which is loaded when the first object is made: a run that encrypts nothing doesn't
/// have it.
namespace criu::crypto {

using Bytes = std::span<const std::byte>;

inline constexpr std::size_t kKeySize = 32;   ///< of symmetric keys, and of X25519 and Ed25519
inline constexpr std::size_t kTagSize = 16;   ///< by which sealed bytes are longer than what is in them
inline constexpr std::size_t kHashSize = 32;  ///< SHA-256

using Hash = std::array<std::byte, kHashSize>;

/// Memory for what nobody else is to see: it isn't written to a swap area (as far as RLIMIT_MEMLOCK allows) nor into a
/// core file, and is zeroes again before it goes.
class SecretBytes {
public:
    /// Zeroes. Throws Error.
    explicit SecretBytes(std::size_t size);
    ~SecretBytes();
    SecretBytes(SecretBytes&&) noexcept = default;
    SecretBytes& operator=(SecretBytes&& other) noexcept;
    SecretBytes(const SecretBytes&) = delete;
    SecretBytes& operator=(const SecretBytes&) = delete;

    /// In a child of the process that has made this: its copy may be swapped out (mlock(2)) unless it says so, too.
    void lock() const noexcept;

    [[nodiscard]] std::span<std::byte> bytes() const noexcept {
        return memory_.bytes().first(memory_.size() < size_ ? 0 : size_);
    }

private:
    void erase() noexcept;

    Mapping memory_;
    std::size_t size_;
};

/// Fills it with random bytes. Throws Error.
void randomize(std::span<std::byte> bytes);

/// A number that is used once with each key.
struct Nonce {
    std::uint64_t number = 0;
    std::uint32_t purpose = 0;
};

/// What needs one key only: AES-256-GCM, HKDF and HMAC with SHA-256. Several threads may use one object.
class Symmetric {
public:
    /// Throws Error if GnuTLS isn't installed.
    Symmetric();
    ~Symmetric();
    Symmetric(const Symmetric&) = delete;
    Symmetric& operator=(const Symmetric&) = delete;

    /// Encrypts `plain` into `sealed`, which is kTagSize longer, so that open() sees any change of it or of
    /// `associated`. Throws Error.
    void seal(Bytes key, Nonce nonce, Bytes associated, Bytes plain, std::span<std::byte> sealed) const;
    /// Undoes it into `plain`, kTagSize shorter. False if these bytes weren't made by seal() with all of this; `plain`
    /// is anything then.
    [[nodiscard]] bool open(Bytes key, Nonce nonce, Bytes associated, Bytes sealed, std::span<std::byte> plain) const;

    /// Makes a key of another one (HKDF); `info` says what for. Throws Error.
    void derive(Bytes from, Bytes salt, std::string_view info, std::span<std::byte> key) const;
    [[nodiscard]] Hash mac(Bytes key, Bytes data) const;
    /// Whether somebody who has the key has made this MAC. How long that takes says nothing of the right one.
    [[nodiscard]] bool isMac(Bytes key, Bytes data, const Hash& given) const;
    [[nodiscard]] Hash hash(Bytes data) const;

private:
    struct Library;
    std::unique_ptr<const Library> library_;
};

}  // namespace criu::crypto
