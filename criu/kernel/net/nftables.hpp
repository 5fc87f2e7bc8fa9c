// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <string>

namespace criu::kernel {

/// Interface of libnftables. criu loads the library on first use, because linking it would load seven libraries in
/// every run of criu.
class Nftables {
public:
    /// Loads the library; throws Error if that fails. All commands act on the network namespace of the thread that
    /// constructs the object.
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
