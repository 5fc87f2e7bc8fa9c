// SPDX-License-Identifier: GPL-2.0-only
#include "criu/task/security_label.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/image/arena.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/model/options.hpp"
#include "criu/pie/program_builder.hpp"
#include "images/creds.hpp"
#include "images/inventory.hpp"

namespace criu::task {
namespace {

constexpr std::string_view kUnconfined = "unconfined";

/// Returns the name of an AppArmor profile, without the mode that follows it in the kernel's text.
std::string_view withoutMode(std::string_view label) {
    constexpr std::string_view kMode = " (";
    const std::size_t mode = label.ends_with(')') ? label.rfind(kMode) : std::string_view::npos;
    return label.substr(0, mode);
}

/// Returns the content of a file; nullopt if criu can't read it.
std::optional<std::string> tryRead(const char* directory, const char* name) {
    try {
        return kernel::ProcDir(directory).readFile(name);
    } catch (const Error&) {
        return std::nullopt;
    }
}

std::string_view nameOf(LabelModule module) {
    return module == LabelModule::AppArmor  ? "AppArmor"
           : module == LabelModule::Selinux ? "SELinux"
                                            : "a security module";
}

/// Returns the reason why a thread can't set a label; empty if it can.
std::string obstacle(std::string_view label, LabelModule module, bool isOnlyThread) {
    switch (module) {
        case LabelModule::AppArmor:
            if (label.find("//&") != std::string_view::npos)
                return "a stack of several profiles of AppArmor";
            return label.starts_with(':') ? "a profile in a policy namespace of AppArmor" : "";
        case LabelModule::Selinux:
            // SELinux permits the change only for a thread that doesn't share its memory with another thread.
            return isOnlyThread ? "" : "a context of SELinux, which a process of several threads can't be given";
        default:
            return "a label of a security module that criu doesn't know";
    }
}

[[noreturn]] void failLabel(std::string_view label, std::string_view what, std::string_view hint) {
    Error error(0, fmt::format("is confined as '{}': {}", label, what));
    error.addHint(hint);
    throw error;
}

/// Returns true if AppArmor has the profile, or if criu can't read the list of profiles. This list has a line "NAME
/// (MODE)" for each profile.
bool isLoaded(std::string_view profile) {
    if (profile == kUnconfined)
        return true;
    const std::optional<std::string> text = tryRead("/sys/kernel/security/apparmor", "profiles");
    if (!text)
        return true;  // if the profile is missing, the kernel refuses it when the label is set
    for (std::size_t begin = 0; begin < text->size();) {
        const std::size_t end = std::min(text->find('\n', begin), text->size());
        if (withoutMode(std::string_view(*text).substr(begin, end - begin)) == profile)
            return true;
        begin = end + 1;
    }
    return false;
}

}  // namespace

std::optional<std::string> securityLabel(const kernel::ProcPid& thread) {
    try {
        std::optional<std::string> label = thread.tryReadFile("attr/current");
        while (label && (label->ends_with('\n') || label->ends_with('\0')))
            label->pop_back();
        if (!label || label->empty())
            return std::nullopt;
        return std::string(withoutMode(*label));
    } catch (const Error& error) {
        if (error.code() == EINVAL)
            return std::nullopt;  // EINVAL: no security module of this kernel supports labels
        throw;
    }
}

bool isUnconfined(std::string_view label) noexcept {
    if (label == kUnconfined)
        return true;
    for (int field = 0; field < 2; ++field) {
        const std::size_t colon = label.find(':');
        label.remove_prefix(colon == std::string_view::npos ? label.size() : colon + 1);
    }
    return label.starts_with("unconfined_");
}

LabelModule labelModule() {
    // Reads the parameter of the AppArmor module, because containers often lack securityfs.
    if (const auto enabled = tryRead("/sys/module/apparmor/parameters", "enabled");
        enabled && enabled->starts_with('Y'))
        return LabelModule::AppArmor;
    if (tryRead("/sys/fs/selinux", "enforce"))
        return LabelModule::Selinux;
    return securityLabel(kernel::ProcDir().self()) ? LabelModule::Other : LabelModule::None;
}

std::uint32_t lsmTypeOf(LabelModule module) noexcept {
    switch (module) {
        case LabelModule::AppArmor:
            return LSMTYPE__APPARMOR;
        case LabelModule::Selinux:
            return LSMTYPE__SELINUX;
        default:
            return LSMTYPE__NO_LSM;
    }
}

void refuseLabel(std::string_view label, const std::string& own, LabelModule module, bool isOnlyThread) {
    if (label == own || (module == LabelModule::AppArmor && label == kUnconfined))
        return;
    if (const std::string what = obstacle(label, module, isOnlyThread); !what.empty())
        failLabel(label, what, "dump it with a criu that runs under the same label");
}

void storeLabel(const std::string& label, LabelModule module, CredsEntry& creds, Arena& arena) {
    if (module != LabelModule::AppArmor || label != kUnconfined)
        creds.lsm_profile = arena.string(label);
}

OwnLabel OwnLabel::read() {
    return {labelModule(), securityLabel(kernel::ProcDir().self())};
}

LabelRestore::LabelRestore(std::uint32_t images, const std::optional<model::LsmProfile>& instead, bool ownUsers,
                           OwnLabel own)
    : module_(own.module), ownUsers_(ownUsers), own_(std::move(own.label)) {
    foreign_ = images != LSMTYPE__NO_LSM && images != lsmTypeOf(module_);
    if (!instead) {
        unconfines_ = images == LSMTYPE__APPARMOR && module_ == LabelModule::AppArmor && own_ && *own_ != kUnconfined;
        return;
    }
    replaces_ = true;
    if (instead->kind == model::LsmKind::None)
        return;
    const LabelModule named = instead->kind == model::LsmKind::Apparmor ? LabelModule::AppArmor : LabelModule::Selinux;
    if (named != module_)
        fail("--lsm-profile: this kernel doesn't run {}", nameOf(named));
    instead_ = instead->profile;
}

std::optional<std::string> LabelRestore::wanted(const CredsEntry& creds) const {
    if (creds.lsm_profile == nullptr)
        return unconfines_ ? std::optional<std::string>(kUnconfined) : std::nullopt;
    return replaces_ ? instead_ : std::optional<std::string>(withoutMode(creds.lsm_profile));
}

void LabelRestore::require(const CredsEntry& creds, bool maySet, bool isOnlyThread) const {
    const std::optional<std::string> label = wanted(creds);
    if (!label || label == own_)
        return;
    if (module_ == LabelModule::None || (foreign_ && !replaces_))
        failLabel(*label, "this kernel doesn't run the security module that knows it",
                  "boot with that module, or restore with --lsm-profile none:");
    if (!maySet)
        failLabel(*label, fmt::format("only criu's own label, '{}', may be restored here", own_.value_or("")),
                  "restore as root, or name a label with --lsm-profile");
    if (const std::string what = obstacle(*label, module_, isOnlyThread); !what.empty())
        failLabel(*label, what,
                  "restore with --lsm-profile and a label that a process can take by itself, or with none:");
    if (module_ == LabelModule::AppArmor && !isLoaded(*label))
        failLabel(*label, "no such profile of AppArmor is loaded here",
                  "load it (apparmor_parser), or restore with --lsm-profile apparmor:NAME or none:");
}

void LabelRestore::check(const CredsEntry& creds, const kernel::ProcPid& thread) const {
    const std::optional<std::string> label = wanted(creds);
    if (!label)
        return;
    if (const auto now = securityLabel(thread); now != label)
        fail("would be confined as '{}', not '{}'", now.value_or("nothing"), *label);
}

LabelRestore::Steps::Steps(const LabelRestore& labels, const CredsEntry& creds) : labels_(labels) {
    if (const std::optional<std::string> label = labels.wanted(creds); label && label != labels.own_)
        text_ = labels.module_ == LabelModule::AppArmor ? "changeprofile " + *label : *label;
}

void LabelRestore::Steps::open(pie::StepList& steps, pie::RemoteData& data) {
    if (!text_)
        return;
    constexpr auto kSubject = pie::Subject::SecurityLabel;
    constexpr std::uint16_t kFirst = 1;
    file_ = data.reserve(sizeof(std::uint64_t));
    const auto keep = [&](std::uint64_t at) { steps.add(pie::Op::StoreResult, kSubject, 0, at); };
    if (labels_.ownUsers_) {
        // Uses the /proc of the process: in a user namespace that has parts of /proc covered, the kernel refuses a new
        // proc mount.
        const std::uint64_t path = data.putString("/proc/thread-self/attr/current");
        steps.call(kSubject, 0, SYS_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC);
        return keep(file_);
    }
    // Mounts a detached proc, because the process' root may lack /proc, or may contain another file at this path.
    const std::uint64_t context = data.reserve(sizeof(std::uint64_t));
    const std::uint64_t mount = data.reserve(sizeof(std::uint64_t));
    steps.call(kSubject, 0, SYS_fsopen, data.putString("proc"), FSOPEN_CLOEXEC);
    keep(context);
    steps.call(kSubject, 0, SYS_fsconfig, context, FSCONFIG_CMD_CREATE, 0, 0, 0).indirect = kFirst;
    steps.call(kSubject, 0, SYS_fsmount, context, FSMOUNT_CLOEXEC, 0).indirect = kFirst;
    keep(mount);
    steps.call(kSubject, 0, SYS_openat, mount, data.putString("thread-self/attr/current"), O_WRONLY | O_CLOEXEC)
        .indirect = kFirst;
    keep(file_);
    steps.call(kSubject, 0, SYS_close, mount).indirect = kFirst;
    steps.call(kSubject, 0, SYS_close, context).indirect = kFirst;
}

void LabelRestore::Steps::write(pie::StepList& steps, pie::RemoteData& data) const {
    if (!text_)
        return;
    constexpr std::uint16_t kFirst = 1;
    const std::uint64_t bytes = data.put(std::as_bytes(std::span(*text_)));
    steps.call(pie::Subject::SecurityLabel, 0, SYS_write, file_, bytes, text_->size()).indirect = kFirst;
    steps.call(pie::Subject::SecurityLabel, 0, SYS_close, file_).indirect = kFirst;
}

}  // namespace criu::task
