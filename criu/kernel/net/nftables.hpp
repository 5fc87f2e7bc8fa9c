// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <string>

namespace criu::kernel {

/// libnftables, loaded on first use. Most runs don't need it, and linking it would load seven libraries in every run.
class Nftables {
public:
    /// Throws Error if the library can't be loaded. Commands act on the network namespace of the constructing thread.
    Nftables();
    ~Nftables();
    Nftables(const Nftables&) = delete;
    Nftables& operator=(const Nftables&) = delete;

    /// Returns true if the library is installed.
    [[nodiscard]] static bool available() noexcept;

    /// Runs commands in nft(8)'s language atomically and returns their output. Throws Error with nft's message.
    std::string run(const std::string& commands);

private:
    struct Library;
    std::unique_ptr<Library> library_;
    void* context_ = nullptr;
};

}  // namespace criu::kernel
