// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <fstream>
#include <functional>
#include <ios>
#include <memory>
#include <string>
#include <vector>

#include "criu/base/crypto/crypto.hpp"
#include "criu/base/crypto/key_agreement.hpp"
#include "criu/image/directory_outlet.hpp"
#include "criu/image/encrypting_outlet.hpp"
#include "criu/image/encryption.hpp"
#include "image_fixture.hpp"

/// Keys, and images that are encrypted for them.
namespace criu::test {

inline const std::function<void()> kGoOn = [] {};

inline void write(const std::string& path, const std::string& content) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

/// Returns a new X25519 key.
inline crypto::SecretKey newIdentity() {
    crypto::SecretKey key{{}, crypto::SecretBytes(crypto::kKeySize)};
    crypto::randomize(key.secret.bytes());
    key.own = crypto::KeyAgreement().publicOf(key.secret.bytes());
    return key;
}

/// Encrypts images for keys: a small file, a large one with holes, and an empty one.
inline void dumpFor(TemporaryDir& into, const std::vector<crypto::PublicKey>& recipients, const std::string& large) {
    const ImageDir directory = into.images();
    EncryptingOutlet out(std::make_unique<DirectoryOutlet>(directory), recipients);
    const auto small = out.create("fs-7.img");
    const auto pages = out.create("pages-1.img");
    out.create("empty.img")->finish(0);
    pages->write(2'000'000, bytesOf(large).subspan(2'000'000, 500'000));
    small->write(0, bytesOf("something that no others may see"));
    pages->write(1U << 20, bytesOf(large).subspan(1U << 20, 2'000'000 - (1U << 20)));
    small->finish(32);
    pages->finish(large.size());
    out.finish();
}

/// A recipient, and images for it.
struct Encrypted {
    Encrypted() {
        identities.push_back(newIdentity());
        large.resize(5U << 20, '\0');
        for (std::size_t i = 1U << 20; i < 2'500'000; ++i)
            large[i] = static_cast<char>(i * i >> 7);
        dump(images);
    }

    void dump(TemporaryDir& into) const { dumpFor(into, {identities.front().own}, large); }

    [[nodiscard]] std::string path(const std::string& name) { return images.path() + "/" + name; }

    /// Returns the error of decryption.
    std::string damage(const std::vector<crypto::SecretKey>& keys) {
        TemporaryDir target;
        const ImageDir from = images.images();
        const ImageDir to = target.images();
        return errorOf([&] { decryptImages(from, DumpKey(from, keys), &to, kGoOn); });
    }
    std::string damage() { return damage(identities); }

    TemporaryDir images;
    std::vector<crypto::SecretKey> identities;
    std::string large;
};

/// Key pair in the format of `openssl genpkey -algorithm X25519`.
inline constexpr const char* kSecretPem =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VuBCIEIHcHbQpzGKV9PBbBclGyZkXfTC+H68CZKsF3+6UduSwq\n"
    "-----END PRIVATE KEY-----\n";
inline constexpr const char* kPublicPem =
    "-----BEGIN PUBLIC KEY-----\n"
    "MCowBQYDK2VuAyEAKVPpfcoSKfl8YAvsLBf+6qs1zkvt9msdQvFqRJ3FwF8=\n"
    "-----END PUBLIC KEY-----\n";

/// Key in the format of `openssl genpkey -algorithm ED25519`.
inline constexpr const char* kSignerPem =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIPD2klfRtCjh1bQC7OPA0A/K2FNr3y5aAfwLc+eV2uxm\n"
    "-----END PRIVATE KEY-----\n";
inline constexpr const char* kSignerPublicPem =
    "-----BEGIN PUBLIC KEY-----\n"
    "MCowBQYDK2VwAyEAI7IAwNyDHlz8qmrXgFCshJAdo0GyQp5PrdLFreq2G5Y=\n"
    "-----END PUBLIC KEY-----\n";

/// Key pair of kSecretPem in age's format.
inline constexpr const char* kAgePublic = "age199f7jlw2zg5ljlrqp0kzc9l7a24ntnjtahmxk82z794yf8w9cp0se4ecc7";
inline constexpr const char* kAgeSecret = "AGE-SECRET-KEY-1WURK6ZNNRZJH60QKC9E9RVNXGH05CTU8A0QFJ2KPWLA628DE9S4QF64P89";

}  // namespace criu::test
