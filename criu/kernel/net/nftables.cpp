// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/net/nftables.hpp"

#include <linux/netlink.h>
#include <sys/socket.h>

#include <cstdint>
#include <string_view>

#include "criu/base/error.hpp"
#include "criu/base/shared_library.hpp"
#include "criu/base/unique_fd.hpp"

namespace criu::kernel {

namespace {

constexpr const char* kName = "libnftables.so.1";

/// Throws Error if the kernel gives this process no socket of netfilter. libnftables ends the calling process then
/// (nft_mnl_socket_open()). A function of its own, so that tests can name its call.
[[gnu::noinline]] void requireNetfilterSocket() {
    (void)UniqueFd(sys(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER),
                       "nftables can't be used: open a netlink socket"));
}

}  // namespace

/// Functions of libnftables(3).
struct Nftables::Library {
    SharedLibrary library{kName, "libnftables1"};
    void* (*create)(std::uint32_t flags) = library["nft_ctx_new"];
    void (*destroy)(void* context) = library["nft_ctx_free"];
    int (*bufferOutput)(void* context) = library["nft_ctx_buffer_output"];
    int (*bufferError)(void* context) = library["nft_ctx_buffer_error"];
    const char* (*output)(void* context) = library["nft_ctx_get_output_buffer"];
    const char* (*error)(void* context) = library["nft_ctx_get_error_buffer"];
    int (*runCommands)(void* context, const char* commands) = library["nft_run_cmd_from_buffer"];
};

Nftables::Nftables() : library_(std::make_unique<Library>()) {
    requireNetfilterSocket();
    context_ = library_->create(0);
    if (context_ == nullptr)
        fail("nftables can't be used: nft_ctx_new failed");
    if (library_->bufferOutput(context_) != 0 || library_->bufferError(context_) != 0) {
        library_->destroy(context_);
        fail("nftables can't be used: no buffers for its output");
    }
}

Nftables::~Nftables() {
    library_->destroy(context_);
}

bool Nftables::available() noexcept {
    return SharedLibrary::isInstalled(kName);
}

std::string Nftables::run(const std::string& commands) {
    if (library_->runCommands(context_, commands.c_str()) == 0)
        return library_->output(context_);
    std::string_view message = library_->error(context_);
    fail("nft: {}", message.substr(0, message.find('\n')));
}

}  // namespace criu::kernel
