// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <string>

#include "criu/base/shared_library.hpp"
#include "lib/c/criu-plugin.h"

namespace criu::device {

/// A plugin's loaded shared object. Never unloaded, since it may have started threads or registered handlers.
class PluginFile {
public:
    /// Throws Error if the file isn't a plugin, or if it needs a later interface. A plugin may have hooks that criu
    /// doesn't know, which are never called.
    explicit PluginFile(const std::string& path);

    [[nodiscard]] const char* name() const noexcept { return descriptor_->name; }
    [[nodiscard]] bool has(int hook) const noexcept { return at(hook) != nullptr; }
    void init(int stage) const;
    void exit(int stage, int result) const noexcept;

    /// Calls a hook of type int(Arguments...). Returns -ENOTSUP if the plugin lacks it.
    template <typename... Arguments>
    int call(int hook, Arguments... arguments) const {
        void* const function = at(hook);
        return function == nullptr ? -kNotSupported : reinterpret_cast<int (*)(Arguments...)>(function)(arguments...);
    }

    static constexpr int kNotSupported = 95;  // ENOTSUP; the ABI has the number

private:
    [[nodiscard]] void* at(int hook) const noexcept;
    void findOldFunctions(const SharedLibrary& library, const std::string& path);

    const cr_plugin_desc_t* descriptor_ = nullptr;
    std::unique_ptr<cr_plugin_desc_t> own_;  ///< for plugins without a descriptor
    std::string ownName_;
};

}  // namespace criu::device
