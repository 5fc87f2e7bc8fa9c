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

/// What a security module (AppArmor, SELinux, Smack) confines a thread by: proc(5), /proc/PID/attr/current.
namespace criu::task {

/// Whose labels the kernel shows.
enum class LabelModule : std::uint8_t { None, AppArmor, Selinux, Other };

/// The label of a process or thread: of AppArmor the name of its profile, without the profile's mode. Nothing where no
/// module answers. Throws Error.
[[nodiscard]] std::optional<std::string> securityLabel(const kernel::ProcPid& thread);

/// Whether a label lets its threads do what their users may: by the name that AppArmor has for that, or by the types
/// of SELinux (user:role:type:level).
[[nodiscard]] bool isUnconfined(std::string_view label) noexcept;

/// What this kernel runs. Throws Error.
[[nodiscard]] LabelModule labelModule();

/// `lsmtype` of the inventory that stands for a module.
[[nodiscard]] std::uint32_t lsmTypeOf(LabelModule module) noexcept;

/// Throws Error for a thread whose label a restore couldn't give it again: profiles of several policy namespaces or
/// that are stacked (AppArmor), a process of several threads (SELinux), and other modules. A label that is criu's own
/// needs none of that, since processes are born with it.
void refuseLabel(std::string_view label, const std::string& own, LabelModule module, bool isOnlyThread);

/// Stores it in a thread's credentials; AppArmor's "unconfined" is none.
void storeLabel(const std::string& label, LabelModule module, CredsEntry& creds, Arena& arena);

/// What criu runs under here.
struct OwnLabel {
    LabelModule module = LabelModule::None;
    std::optional<std::string> label;  ///< none: no module answers

    /// Asks the kernel. Throws Error.
    static OwnLabel read();
};

/// What restored threads are to be labelled.
class LabelRestore {
public:
    /// `images`: `lsmtype` of the inventory, which says whose labels there are; `instead`: --lsm-profile. `ownUsers`:
    /// the tree has a user namespace of its own. Throws Error if the option is about a module that this kernel doesn't
    /// run.
    LabelRestore(std::uint32_t images, const std::optional<model::LsmProfile>& instead, bool ownUsers,
                 OwnLabel own = OwnLabel::read());

    /// The label that a thread of these credentials must have in the end; nothing: whatever it is. A thread that
    /// AppArmor didn't confine has none in its image: where criu is confined it is "unconfined", and not criu's.
    [[nodiscard]] std::optional<std::string> wanted(const CredsEntry& creds) const;

    /// Throws Error if the thread's label can't be given here: the module or the profile isn't there, or the label is
    /// one that refuseLabel() refuses. `maySet`: false for whoever may only have criu's own.
    void require(const CredsEntry& creds, bool maySet, bool isOnlyThread) const;

    /// Throws Error if a thread that was restored has another label than it is to have.
    void check(const CredsEntry& creds, const kernel::ProcPid& thread) const;

    /// Steps of one thread. open() comes while it has all of criu's rights, write() when nothing that follows needs a
    /// capability, for the profile may deny each of them. Both do nothing for a thread that has its label already.
    /// The kernel takes a label only from the thread itself, by a file that was opened in its own process.
    class Steps {
    public:
        Steps(const LabelRestore& labels, const CredsEntry& creds);
        void open(pie::StepList& steps, pie::RemoteData& data);
        void write(pie::StepList& steps, pie::RemoteData& data) const;

    private:
        const LabelRestore& labels_;
        std::optional<std::string> text_;  ///< what is written; nothing: nothing is
        std::uint64_t file_ = 0;           ///< where the descriptor's number is, in the thread's memory
    };

private:
    LabelModule module_;
    bool replaces_ = false;               ///< labels of images are replaced
    std::optional<std::string> instead_;  ///< by this one; nothing: by none
    bool foreign_;                        ///< the images have labels of another module
    bool ownUsers_;
    std::optional<std::string> own_;  ///< criu's
    bool unconfines_ = false;         ///< no label means another one than criu's
};

}  // namespace criu::task
