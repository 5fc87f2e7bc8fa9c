// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <string>

namespace criu::kernel {

/// libnftables, loaded when first needed: most runs never touch it, and linked in, it and the six libraries below it
/// would be loaded by every run.
class Nftables {
public:
    /// Throws Error if the library can't be loaded. Commands act on the network namespace of the thread that makes this
    /// object.
    Nftables();
    ~Nftables();
    Nftables(const Nftables&) = delete;
    Nftables& operator=(const Nftables&) = delete;

    /// Whether the library is there.
    [[nodiscard]] static bool available() noexcept;

    /// Runs commands in nft(8)'s language, all or none of them; returns their output. Throws Error with nft's message.
    std::string run(const std::string& commands);

private:
    struct Library;
    std::unique_ptr<Library> library_;
    void* context_ = nullptr;
};

}  // namespace criu::kernel
