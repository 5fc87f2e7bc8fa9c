// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "images/creds.fwd.hpp"

namespace criu {
class Arena;
}

namespace criu::kernel {
class ProcPid;
}

namespace criu::model {
struct LsmProfile;
}

namespace criu::pie {
class RemoteData;
class StepList;
}  // namespace criu::pie

/// Functions for labels of security modules (AppArmor, SELinux, Smack) that confine a thread (proc(5),
/// /proc/PID/attr/current).
namespace criu::task {

/// Security module whose labels the kernel shows.
enum class LabelModule : std::uint8_t { None, AppArmor, Selinux, Other };

/// Returns the label of a process or thread; for AppArmor, the profile without its mode. Returns nullopt if no security
/// module supports labels. Throws Error.
[[nodiscard]] std::optional<std::string> securityLabel(const kernel::ProcPid& thread);

/// Returns true if a label adds no restrictions: "unconfined" of AppArmor, or an unconfined type of SELinux
/// (user:role:type:level).
[[nodiscard]] bool isUnconfined(std::string_view label) noexcept;

/// Returns the security module that this kernel runs. Throws Error.
[[nodiscard]] LabelModule labelModule();

/// Returns the value of `lsmtype` in the inventory for a module.
[[nodiscard]] std::uint32_t lsmTypeOf(LabelModule module) noexcept;

/// Throws Error for a label that a restore can't set: a stack of profiles or a policy namespace (AppArmor), a process
/// with several threads (SELinux), or any label of another module. It always accepts criu's own label, because restored
/// processes inherit it.
void refuseLabel(std::string_view label, const std::string& own, LabelModule module, bool isOnlyThread);

/// Stores the label in the credentials of a thread. For "unconfined" of AppArmor, it stores no label.
void storeLabel(const std::string& label, LabelModule module, CredsEntry& creds, Arena& arena);

/// Security module of the running kernel, and label of criu.
struct OwnLabel {
    LabelModule module = LabelModule::None;
    std::optional<std::string> label;  ///< unset if no module supports labels

    /// Reads module and label from the kernel. Throws Error.
    static OwnLabel read();
};

/// Restore half of labels: finds and sets the labels of restored threads.
class LabelRestore {
public:
    /// `images` is the `lsmtype` of the inventory, which is the module of the images' labels. `instead` is
    /// --lsm-profile. `ownUsers` is true if the tree has a private user namespace. Throws Error if the option names a
    /// module that this kernel doesn't run.
    LabelRestore(std::uint32_t images, const std::optional<model::LsmProfile>& instead, bool ownUsers,
                 OwnLabel own = OwnLabel::read());

    /// Returns the label that a thread with these credentials must get; nullopt if any label is allowed. The image of a
    /// thread that AppArmor didn't confine contains no label. If criu is confined, such a thread must get "unconfined".
    [[nodiscard]] std::optional<std::string> wanted(const CredsEntry& creds) const;

    /// Throws Error if criu can't set the thread's label: the module or the profile is missing, or refuseLabel()
    /// refuses the label. `maySet` is false for a client that may only have criu's own label.
    void require(const CredsEntry& creds, bool maySet, bool isOnlyThread) const;

    /// Throws Error if the label of a restored thread differs from wanted().
    void check(const CredsEntry& creds, const kernel::ProcPid& thread) const;

    /// Steps that set the label of one thread. open() must run while the thread has all of criu's capabilities. write()
    /// must run when no later step needs a capability, because the profile may deny any capability.
    /// Neither adds steps if the thread already has its label. The kernel accepts a label only from the thread itself,
    /// by a file that its process opened.
    class Steps {
    public:
        Steps(const LabelRestore& labels, const CredsEntry& creds);
        void open(pie::StepList& steps, pie::RemoteData& data);
        void write(pie::StepList& steps, pie::RemoteData& data) const;

    private:
        const LabelRestore& labels_;
        std::optional<std::string> text_;  ///< text to write; unset if the label doesn't change
        std::uint64_t file_ = 0;           ///< address at which the thread's memory contains the descriptor number
    };

private:
    LabelModule module_;
    bool replaces_ = false;               ///< true if `instead_` replaces the labels of images
    std::optional<std::string> instead_;  ///< label that replaces the labels of images; unset for no label
    bool foreign_;                        ///< true if the labels of the images are of another security module
    bool ownUsers_;
    std::optional<std::string> own_;  ///< label of criu
    bool unconfines_ = false;         ///< true if a thread without a label must get "unconfined"
};

}  // namespace criu::task
