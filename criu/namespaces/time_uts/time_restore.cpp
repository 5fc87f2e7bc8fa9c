// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/probe/features.hpp"
#include "criu/kernel/proc/time_offsets.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/joined.hpp"
#include "criu/namespaces/namespace_restore.hpp"
#include "criu/namespaces/non_root_ns_restore.hpp"
#include "images/core.hpp"
#include "images/timens.hpp"

namespace criu::namespaces {
namespace {

using kernel::ClockTime;
using kernel::NamespaceKind;
using kernel::TimeOffsets;

ClockTime fromImage(const Timespec& time) {
    constexpr std::uint64_t kMostSeconds = std::numeric_limits<std::int64_t>::max() / 1'000'000'000;
    constexpr std::uint64_t kSecond = 1'000'000'000;
    if (time.tv_sec > kMostSeconds || time.tv_nsec >= kSecond)
        fail("the images hold a time of {} s and {} ns, which no clock can have", time.tv_sec, time.tv_nsec);
    return {static_cast<std::int64_t>(time.tv_sec), static_cast<std::int64_t>(time.tv_nsec)};
}

/// Initial values of the clocks of a time namespace.
class Clocks {
public:
    Clocks(const ImageDir& images, std::uint32_t number) {
        const auto entry = images.openRequired(ImageKind::Timens, number).only<TimensEntry>();
        monotonic_ = fromImage(*entry->monotonic);
        boottime_ = fromImage(*entry->boottime);
    }

    /// Sets the clocks of the calling process' time namespace for children, and returns a descriptor of this namespace.
    /// Before, its offsets are those of the caller's own time namespace.
    [[nodiscard]] UniqueFd give() const {
        const kernel::ProcPid self = kernel::ProcDir().self();
        const TimeOffsets before = kernel::readTimeOffsets(self);
        TimeOffsets after;
        after.monotonic = monotonic_ - (ClockTime::of(CLOCK_MONOTONIC) - before.monotonic);
        after.boottime = boottime_ - (ClockTime::of(CLOCK_BOOTTIME) - before.boottime);
        self.write("timens_offsets", kernel::formatTimeOffsets(after));
        return self.open("ns/time_for_children", O_RDONLY);
    }

private:
    ClockTime monotonic_;
    ClockTime boottime_;
};

/// Restore of time namespaces. Creates them by unshare(2) and enters them by setns(2); for both, a process must have
/// only one thread. clone(2) has no flag for them, because CLONE_NEWTIME lies in the bits of the exit signal (CSIGNAL).
class TimeRestore final : public NamespaceRestore {
public:
    /// `numbers.own` must be 0 if the first process was in criu's namespace.
    TimeRestore(const RestoreInputs& inputs, const KindNsIds& numbers)
        : needed_(numbers.own != 0 || !numbers.others.empty()),
          log_(inputs.log),
          ofFirst_(inputs.images, numbers.own),
          further_(NamespaceKind::Time, numbers.others, inputs.nsContext) {
        for (const std::uint32_t number : numbers.others)
            others_.emplace(number, Clocks(inputs.images, number));
        for (const auto& task : inputs.tree.tasks)
            if (const std::uint32_t number = numberForChildren(*task); number != 0)
                if (!others_.contains(number) || !madeLater_.insert(number).second)
                    fail("process {} can't make time namespace {}, which is another one's", task->pid, number);
    }

    [[nodiscard]] std::size_t descriptors() const override { return further_.descriptors(); }
    void prepare(kernel::FdStore& store, const Inherited& /*inherited*/) override { further_.prepare(store); }

    void enterFirst(const FirstProcess& /*first*/) override {
        const int made = ::unshare(CLONE_NEWTIME);
        if (made < 0 && !needed_) {  // the kernel doesn't permit it, has reached its limit, or is too old
            log_.warn("No right to make a time namespace: monotonic clocks don't go on from where they were");
            return;
        }
        sys(made, "create a time namespace");
        go(ofFirst_.give());
        further_.make([this](std::uint32_t number) {
            if (madeLater_.contains(number))
                return false;
            sys(::unshare(CLONE_NEWTIME), "create it");
            go(others_.at(number).give());
            return true;
        });
    }

    /// Enters the time namespace before the process opens files, because absolute timers refer to the clocks of the
    /// process.
    void enter(const model::Task& task) const override {
        further_.enter(task);
        const std::uint32_t number = numberForChildren(task);
        if (number == 0)
            return;
        sys(::unshare(CLONE_NEWTIME), "create the time namespace {} for children", number);
        further_.provide(number, others_.at(number).give());
    }

    /// Returns the namespace id of the time namespace for children, or 0 if it is the process' own.
    static std::uint32_t numberForChildren(const model::Task& task) {
        return task.ids && (**task.ids).has_time_for_children_ns_id != 0 ? (**task.ids).time_for_children_ns_id : 0;
    }

private:
    static void go(const UniqueFd& space) {
        sys(::setns(space.get(), CLONE_NEWTIME), "enter the time namespace of the tree");
    }

    bool needed_;  ///< true if the tree had private or non-root time namespaces
    Log& log_;
    Clocks ofFirst_;
    std::map<std::uint32_t, Clocks> others_;
    std::set<std::uint32_t> madeLater_;  ///< ids of namespaces that a process creates only for its children
    NonRootNs further_;
};

/// Returns the namespace ids, including those of time namespaces that only children are in.
KindNsIds numbersOf(const RestoreInputs& inputs) {
    KindNsIds numbers = KindNsIds::ofAny(inputs, NamespaceKind::Time);
    for (const auto& task : inputs.tree.tasks)
        if (const std::uint32_t number = TimeRestore::numberForChildren(*task);
            number != 0 && std::find(numbers.others.begin(), numbers.others.end(), number) == numbers.others.end())
            numbers.others.push_back(number);
    return numbers;
}

}  // namespace

std::unique_ptr<NamespaceRestore> makeTimeRestore(const RestoreInputs& inputs) {
    const KindNsIds numbers = numbersOf(inputs);
    const bool own = numbers.own != 0 || !numbers.others.empty();
    if (inputs.joined.has(NamespaceKind::Time)) {
        if (!numbers.others.empty())
            fail("--join-ns time: the processes of the tree were in several time namespaces");
        return makeJoinedRestore(inputs, NamespaceKind::Time);
    }
    if (own)
        kernel::Features().require(kernel::Feature::TimeNs);
    // Old images don't contain the clocks of criu's namespace.
    const bool known = own || inputs.images.exists(ImageKind::Timens, 0);
    if (!known || !kernel::Features().has(kernel::Feature::TimeNs))
        return nullptr;
    return std::make_unique<TimeRestore>(inputs, numbers);
}

}  // namespace criu::namespaces
