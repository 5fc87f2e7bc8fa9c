// SPDX-License-Identifier: GPL-2.0-only
#include "criu/device/plugin_file.hpp"

#include <iterator>

#include "criu/base/error.hpp"

static_assert(sizeof(cr_plugin_desc_t) == 160 && offsetof(cr_plugin_desc_t, hooks) == 32, "layout of CRIU");

namespace criu::device {
namespace {

constexpr unsigned kOldVersion = CRIU_PLUGIN_GEN_VERSION(0, 1, 0);

// Names of the functions in plugins without a descriptor; the index is the number of the hook.
constexpr const char* kOldHooks[] = {
    "cr_plugin_dump_unix_sk",        "cr_plugin_restore_unix_sk",   "cr_plugin_dump_file",
    "cr_plugin_restore_file",        "cr_plugin_dump_ext_mount",    "cr_plugin_restore_ext_mount",
    "cr_plugin_dump_ext_link",       "cr_plugin_handle_device_vma", "cr_plugin_update_vma_map",
    "cr_plugin_resume_devices_late", "cr_plugin_pause_devices",     "cr_plugin_checkpoint_devices",
    "cr_plugin_post_forking",        "cr_plugin_restore_init",      "cr_plugin_dump_devices_late",
    "cr_plugin_update_inetsk",
};
static_assert(std::size(kOldHooks) == CR_PLUGIN_HOOK__MAX);

}  // namespace

PluginFile::PluginFile(const std::string& path) {
    const SharedLibrary library =
        inContext([] { return "load a plugin"; }, [&] { return SharedLibrary(path, {}, SharedLibrary::Binding::Now); });
    descriptor_ = library.find("CR_PLUGIN_DESC");
    if (descriptor_ == nullptr)
        findOldFunctions(library, path);
    if (descriptor_->name == nullptr)
        fail("the plugin {} has no name", path);
    if (descriptor_->version > CRIU_PLUGIN_VERSION)
        fail("the plugin {} is for version {:#x} of the interface, this criu has {:#x}", path, descriptor_->version,
             CRIU_PLUGIN_VERSION);
}

void PluginFile::findOldFunctions(const SharedLibrary& library, const std::string& path) {
    own_ = std::make_unique<cr_plugin_desc_t>();
    ownName_ = path;
    own_->name = ownName_.c_str();
    own_->version = kOldVersion;
    own_->max_hooks = CR_PLUGIN_HOOK__MAX;
    own_->init = library.find("cr_plugin_init");
    own_->exit = library.find("cr_plugin_fini");
    bool any = own_->init != nullptr;
    for (std::size_t hook = 0; hook < std::size(kOldHooks); ++hook) {
        own_->hooks[hook] = library.find(kOldHooks[hook]);
        any = any || own_->hooks[hook] != nullptr;
    }
    if (!any)
        fail("{} is no plugin: it has neither CR_PLUGIN_DESC nor a function of the older interface", path);
    descriptor_ = own_.get();
}

void* PluginFile::at(int hook) const noexcept {
    return hook < static_cast<int>(descriptor_->max_hooks) ? descriptor_->hooks[hook] : nullptr;
}

void PluginFile::init(int stage) const {
    if (descriptor_->init == nullptr)
        return;
    const int result = descriptor_->init(stage);
    if (result != 0)
        fail("plugin {}: its init failed ({})", name(), result);
}

void PluginFile::exit(int stage, int result) const noexcept {
    if (descriptor_->exit != nullptr)
        descriptor_->exit(stage, result);
}

}  // namespace criu::device
