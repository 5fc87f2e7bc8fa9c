// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <string>

namespace criu::kernel {

/// Interface of libnftables. criu loads this shared library only on first use, because linking it would load seven
/// libraries in every run of criu.
class Nftables {
public:
    /// Loads the shared library. Throws Error if this fails. All commands act on the network namespace in which the
    /// constructing thread is.
    Nftables();
    ~Nftables();
    Nftables(const Nftables&) = delete;
    Nftables& operator=(const Nftables&) = delete;

    /// Returns true if the library is installed.
    [[nodiscard]] static bool available() noexcept;

    /// Runs commands in the language of nft(8) as one change, and returns their output. Throws Error with nft's
    /// message.
    std::string run(const std::string& commands);

private:
    struct Library;
    std::unique_ptr<Library> library_;
    void* context_ = nullptr;
};

}  // namespace criu::kernel
