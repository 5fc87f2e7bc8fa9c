// SPDX-License-Identifier: GPL-2.0-only
#include "criu/device/plugin.hpp"

#include <dirent.h>
#include <fcntl.h>

#include <compel/process.hpp>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <vector>

#include "criu/base/bundle.hpp"
#include "criu/base/error.hpp"
#include "criu/device/plugin_file.hpp"
#include "criu/device/plugin_host.hpp"
#include "criu/files/file_opener.hpp"
#include "criu/files/file_restore.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/kernel/fd_store.hpp"
#include "criu/kernel/trusted_file.hpp"
#include "criu/model/options.hpp"

namespace criu::device {
namespace {

constexpr const char* kDefaultDirectory = "/usr/lib/criu";
constexpr const char* kBundleDirectory = "/lib/criu";  // in the folder of a bundle

/// Returns false if the plugin rejects the object (ENOTSUP). Throws Error for other failures.
bool checkHookResult(int result, const char* hook) {
    if (result == -PluginFile::kNotSupported)
        return false;
    if (result < 0)
        fail("{} failed ({})", hook, result);
    return true;
}

/// Returns true for a file that no fd kind of criu can restore.
bool isUnknown(const files::OpenFd& file) {
    constexpr unsigned kMemoryMajor = 1;            // major number of null, zero, random and similar devices
    constexpr std::uint32_t kPathOnly = 010000000;  // O_PATH
    if ((file.info.flags & kPathOnly) != 0)
        return false;
    if (S_ISCHR(file.stat.st_mode) || S_ISBLK(file.stat.st_mode))
        return !(S_ISCHR(file.stat.st_mode) && (file.stat.st_rdev >> 8 & 0xfff) == kMemoryMajor);
    return (file.stat.st_mode & S_IFMT) == 0;  // anonymous inodes have no file type
}

class PluginDump final : public DeviceDump {
public:
    PluginDump(const PluginFile& file, const Context& context) : file_(file), host_(context) {
        file_.init(CR_PLUGIN_STAGE__DUMP);
    }
    ~PluginDump() override {
        if (!finished_)
            file_.exit(CR_PLUGIN_STAGE__DUMP, -1);
    }

    void pause(HostPid pid) override {
        checkHookResult(file_.call(CR_PLUGIN_HOOK__PAUSE_DEVICES, pid.value), "PAUSE_DEVICES");
    }
    void checkpoint(compel::FrozenProcess& process) override {
        checkHookResult(file_.call(CR_PLUGIN_HOOK__CHECKPOINT_DEVICES, process.pid()), "CHECKPOINT_DEVICES");
    }
    [[nodiscard]] bool checkpoints() const override { return file_.has(CR_PLUGIN_HOOK__CHECKPOINT_DEVICES); }
    bool claims(const MappedDevice& mapped) override {
        const struct stat* const stat = &mapped.stat;
        return checkHookResult(file_.call(CR_PLUGIN_HOOK__HANDLE_DEVICE_VMA, mapped.fd, stat), "HANDLE_DEVICE_VMA");
    }
    bool claims(const files::OpenFd& file) override {
        return file_.has(CR_PLUGIN_HOOK__DUMP_EXT_FILE) && isUnknown(file);
    }
    bool dump(const files::OpenFd& file, FileId id) override {
        return checkHookResult(file_.call(CR_PLUGIN_HOOK__DUMP_EXT_FILE, file.copy.get(), static_cast<int>(id.value)),
                               "DUMP_EXT_FILE");
    }
    [[nodiscard]] bool takesSockets() const override { return file_.has(CR_PLUGIN_HOOK__DUMP_UNIX_SK); }
    bool takeSocket(int fd, std::uint32_t inode) override {
        return checkHookResult(file_.call(CR_PLUGIN_HOOK__DUMP_UNIX_SK, fd, static_cast<int>(inode)), "DUMP_UNIX_SK");
    }
    bool takeMount(const std::string& mountPoint, int id) override {
        std::string path = '.' + mountPoint;  // the hook expects the path with a leading dot, because CRIU passes it so
        return checkHookResult(file_.call(CR_PLUGIN_HOOK__DUMP_EXT_MOUNT, path.data(), id), "DUMP_EXT_MOUNT");
    }
    bool takeLink(int index, int type, const std::string& kind) override {
        std::string name = kind;
        char* const given = kind.empty() ? nullptr : name.data();
        const int result = file_.call(CR_PLUGIN_HOOK__DUMP_EXT_LINK, index, type, given);
        if (result > 0)
            fail("DUMP_EXT_LINK failed ({})", result);
        return checkHookResult(result, "DUMP_EXT_LINK");
    }
    void dumpLate(HostPid root) override {
        const int result = file_.call(CR_PLUGIN_HOOK__DUMP_DEVICES_LATE, root);
        if (result != 0 && result != -PluginFile::kNotSupported)
            fail("DUMP_DEVICES_LATE failed ({})", result);
    }
    void release(bool) override {}
    void finish() noexcept override {
        finished_ = true;
        file_.exit(CR_PLUGIN_STAGE__DUMP, 0);
    }

private:
    const PluginFile& file_;
    PluginHost host_;
    bool finished_ = false;
};

class PluginRestore final : public DeviceRestore {
public:
    PluginRestore(const PluginFile& file, const Context& context) : file_(file), host_(context), log_(context.log) {
        context.store->openQueue();
        file_.init(CR_PLUGIN_STAGE__RESTORE);
    }
    ~PluginRestore() override {
        if (!finished_)
            file_.exit(CR_PLUGIN_STAGE__RESTORE, -1);
    }

    void prepare(files::FileRestore&) override {
        checkHookResult(file_.call(CR_PLUGIN_HOOK__RESTORE_INIT), "RESTORE_INIT");
    }
    void startWork() override {
        checkHookResult(file_.call(CR_PLUGIN_HOOK__RESTORE_ASYNCHRONOUS), "RESTORE_ASYNCHRONOUS");
    }

    Opened open(FileId id, files::FileOpener& opener) override {
        bool retry = false;
        const int fd = file_.call(CR_PLUGIN_HOOK__RESTORE_EXT_FILE, static_cast<int>(id.value), &retry);
        if (!checkHookResult(fd, "RESTORE_EXT_FILE"))
            return Opened::NotMine;
        if (retry)
            return Opened::NotYet;
        opener.provide(id, UniqueFd(fd));
        return Opened::Done;
    }

    UniqueFd openSocket(std::uint32_t inode) override {
        const int fd = file_.call(CR_PLUGIN_HOOK__RESTORE_UNIX_SK, static_cast<int>(inode));
        // Ignores a failure, because criu then creates the socket itself.
        if (fd < 0 && fd != -PluginFile::kNotSupported)
            log_.warn("{}: RESTORE_UNIX_SK failed for socket:[{}] ({})", file_.name(), inode, fd);
        return UniqueFd(std::max(fd, -1));
    }

    bool putMount(int id, const std::string& path) override {
        std::string target = path;
        std::string oldRoot = "/";
        int* const isFile = nullptr;
        return checkHookResult(file_.call(CR_PLUGIN_HOOK__RESTORE_EXT_MOUNT, id, target.data(), oldRoot.data(), isFile),
                               "RESTORE_EXT_MOUNT");
    }

    std::optional<Relocated> relocate(const DeviceMapping& mapping) override {
        const std::string path(mapping.path);
        std::uint64_t offset = 0;
        int fd = -1;
        const int result =
            file_.call(CR_PLUGIN_HOOK__UPDATE_VMA_MAP, path.c_str(), mapping.start, mapping.offset, &offset, &fd);
        if (!checkHookResult(result, "UPDATE_VMA_MAP") || result == 0)
            return std::nullopt;
        return Relocated{offset, UniqueFd(fd)};
    }

    bool updateInetSocket(const InetAddresses& socket) override {
        return checkHookResult(file_.call(CR_PLUGIN_HOOK__UPDATE_INETSK, socket.family, socket.state,
                                          socket.source.data(), socket.destination.data()),
                               "UPDATE_INETSK");
    }

    void resume(compel::FrozenProcess& process, TreePid) override {
        checkHookResult(file_.call(CR_PLUGIN_HOOK__RESUME_DEVICES_LATE, process.pid()), "RESUME_DEVICES_LATE");
    }
    void finish() noexcept override {
        finished_ = true;
        file_.exit(CR_PLUGIN_STAGE__RESTORE, 0);
    }

private:
    const PluginFile& file_;
    PluginHost host_;
    Log& log_;
    bool finished_ = false;
};

class Plugin final : public Subsystem {
public:
    explicit Plugin(const std::string& path) : file_(path) {}
    [[nodiscard]] std::string_view name() const override { return file_.name(); }
    [[nodiscard]] bool isPlugin() const override { return true; }
    [[nodiscard]] bool dumpsFiles() const override { return file_.has(CR_PLUGIN_HOOK__DUMP_EXT_FILE); }
    std::unique_ptr<DeviceDump> startDump(const Context& context) override {
        return std::make_unique<PluginDump>(file_, context);
    }
    std::unique_ptr<DeviceRestore> startRestore(const Context& context) override {
        return std::make_unique<PluginRestore>(file_, context);
    }

private:
    PluginFile file_;
};

/// Returns the built-in subsystem that replaces the plugin with this name; nullptr if there is none.
const Subsystem* substituteOf(std::string_view name, const Subsystems& subsystems) {
    const auto found = std::find_if(subsystems.begin(), subsystems.end(), [&](const auto& subsystem) {
        const auto names = subsystem->replacesPlugins();
        return std::find(names.begin(), names.end(), name) != names.end();
    });
    return found == subsystems.end() ? nullptr : found->get();
}

/// Filter that selects the plugins to load.
class PluginFilter {
public:
    PluginFilter(std::span<const std::string> off, const Subsystems& subsystems, Log& log)
        : off_(off), subsystems_(subsystems), log_(log) {}

    /// Returns true if a plugin with this name may be loaded: neither an option nor a built-in subsystem excludes it.
    /// `name`: name of the file or of the plugin. `path`: for the log.
    [[nodiscard]] bool wants(std::string_view name, const std::string& path) const {
        if (std::find(off_.begin(), off_.end(), name) != off_.end()) {
            log_.info("Plugin {} isn't used: it is switched off by --no-device", path);
            return false;
        }
        const Subsystem* const substitute = substituteOf(name, subsystems_);
        if (substitute != nullptr)
            log_.info("Plugin {} isn't used: criu's own support of {} does its work", path, substitute->name());
        return substitute == nullptr;
    }

private:
    std::span<const std::string> off_;
    const Subsystems& subsystems_;
    Log& log_;
};

/// Throws Error for a plugin file that criu doesn't trust. If the file is a symbolic link, checks its target.
void requireTrustedPlugin(int directory, const char* name, const std::string& path) {
    const UniqueFd file(sys(::openat(directory, name, O_PATH | O_CLOEXEC), "open {}", path));
    kernel::requireTrusted(file.get(), path);
}

}  // namespace

PluginDirectory pluginDirectory(const model::Options& options) {
    if (options.libDir)
        return {*options.libDir, true};
    if (const char* const named = ::secure_getenv("CRIU_LIBS_DIR"))
        return {named, true};
    if (const std::string& bundle = bundleFolder(); !bundle.empty())
        return {bundle + kBundleDirectory, false};
    return {kDefaultDirectory, false};
}

void loadPlugins(const PluginDirectory& directory, std::span<const std::string> off, Subsystems& subsystems, Log& log) {
    const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(directory.path.c_str()), ::closedir);
    if (!listing) {
        if (directory.asked)
            failErrno("read the plugin directory {}", directory.path);
        return;
    }
    const PluginFilter admission(off, subsystems, log);
    while (const dirent* const entry = ::readdir(listing.get())) {
        const std::string_view file(entry->d_name);
        if (!file.ends_with(".so"))
            continue;
        const std::string path = fmt::format("{}/{}", directory.path, file);
        if (!admission.wants(file.substr(0, file.size() - 3), path))
            continue;
        try {
            kernel::requireTrusted(::dirfd(listing.get()), directory.path);
            requireTrustedPlugin(::dirfd(listing.get()), entry->d_name, path);
            auto plugin = std::make_unique<Plugin>(path);
            if (!admission.wants(plugin->name(), path))
                continue;
            log.info("Plugin {} of {}", plugin->name(), path);
            subsystems.push_back(std::move(plugin));
        } catch (const Error& error) {
            if (directory.asked)
                throw;
            log.warn("{}", error.what());
        }
    }
}

}  // namespace criu::device
