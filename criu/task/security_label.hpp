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

/// Labels of security modules (AppArmor, SELinux, Smack) that confine a thread: proc(5), /proc/PID/attr/current.
namespace criu::task {

/// The security module whose labels the kernel shows.
enum class LabelModule : std::uint8_t { None, AppArmor, Selinux, Other };

/// Returns the label of a process or thread; for AppArmor the profile without its mode. Empty if no module supports
/// labels. Throws Error.
[[nodiscard]] std::optional<std::string> securityLabel(const kernel::ProcPid& thread);

/// True if a label adds no restrictions: AppArmor's name for that, or an unconfined type of SELinux
/// (user:role:type:level).
[[nodiscard]] bool isUnconfined(std::string_view label) noexcept;

/// Returns the module that this kernel runs. Throws Error.
[[nodiscard]] LabelModule labelModule();

/// Returns the `lsmtype` value of the inventory for a module.
[[nodiscard]] std::uint32_t lsmTypeOf(LabelModule module) noexcept;

/// Throws Error for a label that a restore couldn't set: stacked profiles or policy namespaces (AppArmor), a process
/// with several threads (SELinux), and other modules. Criu's own label is always accepted, since restored processes
/// inherit it.
void refuseLabel(std::string_view label, const std::string& own, LabelModule module, bool isOnlyThread);

/// Stores the label in a thread's credentials; AppArmor's "unconfined" is stored as none.
void storeLabel(const std::string& label, LabelModule module, CredsEntry& creds, Arena& arena);

/// Security module and label of criu.
struct OwnLabel {
    LabelModule module = LabelModule::None;
    std::optional<std::string> label;  ///< empty: no module supports labels

    /// Reads them from the kernel. Throws Error.
    static OwnLabel read();
};

/// Labels of restored threads.
class LabelRestore {
public:
    /// `images`: `lsmtype` of the inventory, the module of the images' labels; `instead`: --lsm-profile. `ownUsers`:
    /// the tree has a private user namespace. Throws Error if the option names a module that this kernel doesn't run.
    LabelRestore(std::uint32_t images, const std::optional<model::LsmProfile>& instead, bool ownUsers,
                 OwnLabel own = OwnLabel::read());

    /// Returns the label that a thread with these credentials must get; empty: any label. A thread that AppArmor didn't
    /// confine has no label in its image. If criu is confined, the thread must become "unconfined".
    [[nodiscard]] std::optional<std::string> wanted(const CredsEntry& creds) const;

    /// Throws Error if the thread's label can't be set here: the module or the profile is missing, or refuseLabel()
    /// refuses it. `maySet`: false for a client that may only have criu's own label.
    void require(const CredsEntry& creds, bool maySet, bool isOnlyThread) const;

    /// Throws Error if a restored thread has another label than it must have.
    void check(const CredsEntry& creds, const kernel::ProcPid& thread) const;

    /// Steps of one thread. open() comes while the thread has all of criu's capabilities. write() comes when no later
    /// step needs a capability, since the profile may deny each of them. Both do nothing if the thread has its label
    /// already. The kernel accepts a label only from the thread itself, by a file that its process opened.
    class Steps {
    public:
        Steps(const LabelRestore& labels, const CredsEntry& creds);
        void open(pie::StepList& steps, pie::RemoteData& data);
        void write(pie::StepList& steps, pie::RemoteData& data) const;

    private:
        const LabelRestore& labels_;
        std::optional<std::string> text_;  ///< text to write; empty: none
        std::uint64_t file_ = 0;           ///< address of the descriptor number in the thread's memory
    };

private:
    LabelModule module_;
    bool replaces_ = false;               ///< labels of images are replaced
    std::optional<std::string> instead_;  ///< replacement; empty: no label
    bool foreign_;                        ///< the images have labels of another module
    bool ownUsers_;
    std::optional<std::string> own_;  ///< criu's label
    bool unconfines_ = false;         ///< a thread without a label must become unconfined
};

}  // namespace criu::task
