// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/birth/subreaper_reparent.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>

#include <chrono>
#include <thread>

#include "criu/base/error.hpp"

namespace criu::engine {
namespace {

void becomeSubreaper(bool on) {
    sys(::prctl(PR_SET_CHILD_SUBREAPER, on ? 1 : 0, 0, 0, 0), "{} child subreaper", on ? "become" : "cease to be");
}

/// Waits until the kernel has reparented `pid` to the calling process `self`. `number`: pid of the child in the pid
/// namespace of `self`.
void awaitChild(TreePid pid, pid_t number, TreePid self) {
    constexpr auto kPatience = std::chrono::seconds(10);
    constexpr auto kPause = std::chrono::microseconds(200);
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    for (;;) {
        siginfo_t info{};
        if (::waitid(P_PID, static_cast<id_t>(number), &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0)
            return;
        if (errno != ECHILD)
            failErrno("look for child {}", pid);
        if (std::chrono::steady_clock::now() > deadline)
            fail("process {} was to become a child of {}, but isn't", pid, self);
        std::this_thread::sleep_for(kPause);
    }
}

}  // namespace

// Each subreaper turn has two steps. In the first step, the process becomes the only subreaper. The second step is
// finished when the kernel has reparented the children to the process.

void reparentInTurn(const model::BirthPlan& births, const model::Birth& self, const model::NestedPids& nested,
                    const RestoreControl& control) {
    const std::optional<std::size_t> turn = births.turnOf(self.pid);
    if (!turn)
        return;
    control.awaitReparenting(2 * *turn);
    becomeSubreaper(true);
    control.continueReparenting();
    for (const model::Birth& other : births.all())
        if (other.reparented && other.parent == self.pid)
            awaitChild(other.pid, model::NestedPids::numberIn(nested.of(self.pid), other.pid), self.pid);
    becomeSubreaper(false);
    control.continueReparenting();
}

void restoreSubreaper(const model::BirthPlan& births, const RestoreControl& control) {
    control.awaitReparenting(2 * births.subreaperTurns().size());
    becomeSubreaper(true);
}

void awaitReparentTurn(const model::BirthPlan& births, const model::Birth& self, const RestoreControl& control) {
    if (const auto turn = births.endOf(self))
        control.awaitReparenting(2 * *turn + 1);
}

}  // namespace criu::engine
