// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/nftables.hpp"

#include <dlfcn.h>

#include <cstdint>
#include <string_view>

#include "criu/base/error.hpp"

namespace criu::kernel {

namespace {

constexpr const char* kName = "libnftables.so.1";

struct Unload {
    void operator()(void* handle) const noexcept { ::dlclose(handle); }
};

}  // namespace

/// libnftables(3).
struct Nftables::Library {
    Library() : handle(::dlopen(kName, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
        if (!handle)
            fail("load {}: {}", kName, ::dlerror());
        resolve(create, "nft_ctx_new");
        resolve(destroy, "nft_ctx_free");
        resolve(bufferOutput, "nft_ctx_buffer_output");
        resolve(bufferError, "nft_ctx_buffer_error");
        resolve(output, "nft_ctx_get_output_buffer");
        resolve(error, "nft_ctx_get_error_buffer");
        resolve(runCommands, "nft_run_cmd_from_buffer");
    }

    template <typename Function>
    void resolve(Function& function, const char* name) {
        function = reinterpret_cast<Function>(::dlsym(handle.get(), name));
        if (function == nullptr)
            fail("{} lacks {}", kName, name);
    }

    std::unique_ptr<void, Unload> handle;
    void* (*create)(std::uint32_t flags) = nullptr;
    void (*destroy)(void* context) = nullptr;
    int (*bufferOutput)(void* context) = nullptr;
    int (*bufferError)(void* context) = nullptr;
    const char* (*output)(void* context) = nullptr;
    const char* (*error)(void* context) = nullptr;
    int (*runCommands)(void* context, const char* commands) = nullptr;
};

Nftables::Nftables() : library_(std::make_unique<Library>()), context_(library_->create(0)) {
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
    const std::unique_ptr<void, Unload> handle(::dlopen(kName, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE));
    return handle != nullptr;
}

std::string Nftables::run(const std::string& commands) {
    if (library_->runCommands(context_, commands.c_str()) == 0)
        return library_->output(context_);
    std::string_view message = library_->error(context_);
    fail("nft: {}", message.substr(0, message.find('\n')));
}

}  // namespace criu::kernel
