// SPDX-License-Identifier: GPL-2.0-only
#include <net/if.h>
#include <netinet/tcp.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <regex>
#include <vector>

#include <fmt/format.h>

#include "criu/engine/compare/field_rules.hpp"
#include "criu/engine/compare/message_comparison.hpp"
#include "criu/engine/compare/message_fields.hpp"
#include "criu/image/record.hpp"
#include "criu/memory/mappings/vma_status.hpp"
#include "criu/model/process_tree.hpp"
#include "images/core.hpp"
#include "images/fdinfo.hpp"
#include "images/ipc-shm.hpp"
#include "images/mnt.hpp"
#include "images/netdev.hpp"
#include "images/remap-file-path.hpp"
#include "images/siginfo.hpp"
#include "images/sk-opts.hpp"
#include "images/sk-unix.hpp"
#include "images/timens.hpp"
#include "images/timer.hpp"
#include "images/vma.hpp"

namespace criu::engine {
namespace {

constexpr std::uint64_t kNanoseconds = 1'000'000'000;
constexpr std::uint64_t kMicroseconds = 1'000'000;
/// Tolerance for remaining times. Each restore adds one tick (at most 10 ms) to timers of processor time, and a second
/// dump may see it as two.
constexpr std::uint64_t kTick = 20'000'000;

std::uint64_t nanoseconds(std::uint64_t seconds, std::uint64_t fraction, std::uint64_t perSecond) noexcept {
    return seconds * kNanoseconds + fraction * (kNanoseconds / perSecond);
}

std::string secondsText(std::uint64_t duration) {
    return fmt::format("{}.{:09} s", duration / kNanoseconds, duration % kNanoseconds);
}

void compareNumbers(std::string_view field, std::uint64_t image, std::uint64_t tree, const Place& place,
                    const std::string& prefix, ComparisonSink& sink) {
    if (image != tree)
        sink.differs(place, fmt::format("{}{}", prefix, field), std::to_string(image), std::to_string(tree));
}

/// Setting of a timer in nanoseconds.
struct TimerSetting {
    std::uint64_t interval = 0;
    std::uint64_t remaining = 0;  ///< 0 if the timer isn't armed
};

/// Compares settings of timers. The remaining time may sink as far as time has passed, and begins again at the
/// interval.
void compareTimers(const TimerSetting& image, const TimerSetting& tree, const Place& place, const std::string& prefix,
                   ComparisonSink& sink) {
    if (image.interval != tree.interval)
        sink.differs(place, prefix + "interval", secondsText(image.interval), secondsText(tree.interval));
    const bool armed = image.remaining != 0;
    const std::uint64_t most = std::max(image.remaining, image.interval) + kTick;
    if (armed != (tree.remaining != 0) || (armed && tree.remaining > most))
        sink.differs(place, prefix + "remaining time", secondsText(image.remaining), secondsText(tree.remaining));
}

TimerSetting settingOf(const ItimerEntry& timer) noexcept {
    return {nanoseconds(timer.isec, timer.iusec, kMicroseconds), nanoseconds(timer.vsec, timer.vusec, kMicroseconds)};
}

constexpr std::array<std::string_view, 4> kItimerFields{"isec", "iusec", "vsec", "vusec"};

void compareItimers(const ProtobufCMessage& image, const ProtobufCMessage& tree, const Place& place,
                    const std::string& prefix, ComparisonSink& sink) {
    compareTimers(settingOf(viewAs<ItimerEntry>(image)), settingOf(viewAs<ItimerEntry>(tree)), place, prefix, sink);
}

constexpr std::array<std::string_view, 5> kPosixTimerFields{"overrun", "isec", "insec", "vsec", "vnsec"};

void comparePosixTimers(const ProtobufCMessage& image, const ProtobufCMessage& tree, const Place& place,
                        const std::string& prefix, ComparisonSink& sink) {
    const auto& before = viewAs<PosixTimerEntry>(image);
    const auto& now = viewAs<PosixTimerEntry>(tree);
    const auto setting = [](const PosixTimerEntry& timer) {
        return TimerSetting{nanoseconds(timer.isec, timer.insec, kNanoseconds),
                            nanoseconds(timer.vsec, timer.vnsec, kNanoseconds)};
    };
    compareTimers(setting(before), setting(now), place, prefix, sink);
    // A periodic timer goes on to expire while its signal is pending.
    const bool isPeriodic = before.isec != 0 || before.insec != 0;
    if (isPeriodic ? now.overrun < before.overrun : now.overrun != before.overrun)
        compareNumbers("overrun", before.overrun, now.overrun, place, prefix, sink);
}

constexpr std::array<std::string_view, 5> kTimerfdFields{"ticks", "isec", "insec", "vsec", "vnsec"};

void compareTimerfds(const ProtobufCMessage& image, const ProtobufCMessage& tree, const Place& place,
                     const std::string& prefix, ComparisonSink& sink) {
    const auto& before = viewAs<TimerfdEntry>(image);
    const auto& now = viewAs<TimerfdEntry>(tree);
    const auto setting = [](const TimerfdEntry& timer) {
        return TimerSetting{nanoseconds(timer.isec, timer.insec, kNanoseconds),
                            nanoseconds(timer.vsec, timer.vnsec, kNanoseconds)};
    };
    const bool isPeriodic = before.isec != 0 || before.insec != 0;
    const bool isArmed = before.vsec != 0 || before.vnsec != 0;
    const bool hasExpired = isArmed && now.ticks > before.ticks;
    TimerSetting after = setting(now);
    if (hasExpired && !isPeriodic && after.remaining == 0)
        after.remaining = 1;  // the timer has expired since, which adds ticks and disarms it
    compareTimers(setting(before), after, place, prefix, sink);
    if (!hasExpired)
        compareNumbers("ticks", before.ticks, now.ticks, place, prefix, sink);
}

constexpr std::array<std::string_view, 2> kTimensFields{"monotonic", "boottime"};

/// Compares clocks of time namespaces, which go on from their values in the images.
void compareClocks(const ProtobufCMessage& image, const ProtobufCMessage& tree, const Place& place,
                   const std::string& prefix, ComparisonSink& sink) {
    const auto& before = viewAs<TimensEntry>(image);
    const auto& now = viewAs<TimensEntry>(tree);
    const auto compareClock = [&](std::string_view name, const Timespec& then, const Timespec& later) {
        const std::uint64_t one = nanoseconds(then.tv_sec, then.tv_nsec, kNanoseconds);
        const std::uint64_t other = nanoseconds(later.tv_sec, later.tv_nsec, kNanoseconds);
        if (other < one)
            sink.differs(place, fmt::format("{}{}", prefix, name), secondsText(one), secondsText(other));
    };
    compareClock("monotonic", *before.monotonic, *now.monotonic);
    compareClock("boottime", *before.boottime, *now.boottime);
}

constexpr std::array<std::string_view, 1> kVmaFields{"shmid"};

/// Returns what kind of id `shmid` is; nothing if the kind of mapping has none.
std::optional<IdClass> shmidClassOf(const VmaEntry& vma) noexcept {
    using memory::is;
    using memory::VmaStatus;
    if (is(vma, VmaStatus::FilePrivate) || is(vma, VmaStatus::FileShared) || is(vma, VmaStatus::Socket) ||
        is(vma, VmaStatus::Plugin) || is(vma, VmaStatus::IoUring))
        return IdClass::File;
    if (is(vma, VmaStatus::AnonShared) || is(vma, VmaStatus::SysvIpc))
        return IdClass::SharedMemory;
    return std::nullopt;
}

void compareShmids(const ProtobufCMessage& image, const ProtobufCMessage& tree, const Place& place,
                   const std::string& prefix, ComparisonSink& sink) {
    const auto& before = viewAs<VmaEntry>(image);
    const auto& now = viewAs<VmaEntry>(tree);
    const auto ids = shmidClassOf(before);
    if (ids && ids == shmidClassOf(now))
        sink.relate(*ids, before.shmid, now.shmid, place, prefix + "shmid");
    else
        compareNumbers("shmid", before.shmid, now.shmid, place, prefix, sink);
}

/// Relates the inodes of two files.
void relateInodes(std::uint64_t imageDevice, std::uint64_t imageInode, std::uint64_t treeDevice,
                  std::uint64_t treeInode, const Place& place, const std::string& field, ComparisonSink& sink) {
    constexpr unsigned kInodeBits = 44;  // device numbers have 32 bits, of which a tree uses few
    sink.relate(IdClass::Inode, imageDevice << kInodeBits ^ imageInode, treeDevice << kInodeBits ^ treeInode, place,
                field);
}

constexpr std::array<std::string_view, 2> kRegularFields{"device", "inode"};

void compareRegular(const ProtobufCMessage& image, const ProtobufCMessage& tree, const Place& place,
                    const std::string& prefix, ComparisonSink& sink) {
    const auto& before = viewAs<RegFileEntry>(image);
    const auto& now = viewAs<RegFileEntry>(tree);
    if (before.has_inode != 0 && now.has_inode != 0)
        relateInodes(before.device, before.inode, now.device, now.inode, place, prefix + "inode", sink);
}

constexpr std::array<std::string_view, 3> kTargetFields{"dev", "inode", "pos"};

void compareTargets(const ProtobufCMessage& image, const ProtobufCMessage& tree, const Place& place,
                    const std::string& prefix, ComparisonSink& sink) {
    const auto& before = viewAs<EventpollTfdEntry>(image);
    const auto& now = viewAs<EventpollTfdEntry>(tree);
    if (before.has_inode != 0 && now.has_inode != 0)
        relateInodes(before.dev, before.inode, now.dev, now.inode, place, prefix + "inode", sink);
    compareNumbers("pos", before.pos, now.pos, place, prefix, sink);
}

constexpr std::array<std::string_view, 2> kWatchFields{"i_ino", "s_dev"};

void compareWatches(const ProtobufCMessage& image, const ProtobufCMessage& tree, const Place& place,
                    const std::string& prefix, ComparisonSink& sink) {
    const auto& before = viewAs<InotifyWdEntry>(image);
    const auto& now = viewAs<InotifyWdEntry>(tree);
    relateInodes(before.s_dev, before.i_ino, now.s_dev, now.i_ino, place, prefix + "i_ino", sink);
}

constexpr std::array<std::string_view, 2> kMarkFields{"s_dev", "ie"};

void compareMarks(const ProtobufCMessage& image, const ProtobufCMessage& tree, const Place& place,
                  const std::string& prefix, ComparisonSink& sink) {
    const auto& before = viewAs<FanotifyMarkEntry>(image);
    const auto& now = viewAs<FanotifyMarkEntry>(tree);
    if (before.ie != nullptr && now.ie != nullptr)
        relateInodes(before.s_dev, before.ie->i_ino, now.s_dev, now.ie->i_ino, place, prefix + "ie.i_ino", sink);
    else if ((before.ie != nullptr) != (now.ie != nullptr))
        sink.differs(place, prefix + "ie", std::string(before.ie != nullptr ? kPresent : kAbsent),
                     std::string(now.ie != nullptr ? kPresent : kAbsent));
}

constexpr std::array<std::string_view, 1> kRemapFields{"remap_id"};

void compareRemaps(const ProtobufCMessage& image, const ProtobufCMessage& tree, const Place& place,
                   const std::string& prefix, ComparisonSink& sink) {
    const auto& before = viewAs<RemapFilePathEntry>(image);
    const auto& now = viewAs<RemapFilePathEntry>(tree);
    if (before.remap_type == REMAP_TYPE__PROCFS || before.remap_type != now.remap_type)
        compareNumbers("remap_id", before.remap_id, now.remap_id, place, prefix, sink);
    else
        sink.relate(before.remap_type == REMAP_TYPE__LINKED ? IdClass::File : IdClass::Remap, before.remap_id,
                    now.remap_id, place, prefix + "remap_id");
}

constexpr std::array<std::string_view, 1> kSegmentFields{"content"};

void compareSegments(const ProtobufCMessage& image, const ProtobufCMessage& tree, const Place& place,
                     const std::string& prefix, ComparisonSink& sink) {
    const auto contentOf = [](const IpcShmEntry& entry) {
        return entry.has_content != 0 ? entry.content : entry.desc->id;
    };
    sink.relate(IdClass::SharedMemory, contentOf(viewAs<IpcShmEntry>(image)), contentOf(viewAs<IpcShmEntry>(tree)),
                place, prefix + "content");
}

constexpr std::array<std::string_view, 2> kStateFields{"task_state", "stop_signo"};

/// Compares states of processes. A user may stop a restored tree to compare it, but only as a whole.
void compareStates(const ProtobufCMessage& image, const ProtobufCMessage& tree, const Place& place,
                   const std::string& prefix, ComparisonSink& sink) {
    const auto& before = viewAs<TaskCoreEntry>(image);
    const auto& now = viewAs<TaskCoreEntry>(tree);
    const auto alive = static_cast<std::uint32_t>(model::TaskState::Alive);
    if (before.task_state == alive && sink.treeIsStopped())
        return;
    compareNumbers("task_state", before.task_state, now.task_state, place, prefix, sink);
    compareNumbers("stop_signo", before.stop_signo, now.stop_signo, place, prefix, sink);
}

constexpr std::array<std::string_view, 1> kQueueFields{"signals"};

siginfo_t infoOf(const ProtobufCMessage& signal) noexcept {
    const ProtobufCBinaryData& bytes = viewAs<SiginfoEntry>(signal).siginfo;
    siginfo_t info{};
    std::memcpy(&info, bytes.data, std::min(bytes.len, sizeof(info)));
    return info;
}

/// Returns true for the SIGCHLD that a parent gets when its child is stopped.
bool tellsOfStop(const ProtobufCMessage& signal) noexcept {
    const siginfo_t info = infoOf(signal);
    return info.si_signo == SIGCHLD && info.si_code == CLD_STOPPED;
}

/// Returns true for a signal of an expired timer.
bool isOfTimer(const ProtobufCMessage& signal) noexcept {
    const siginfo_t info = infoOf(signal);
    const bool ofItimer = info.si_signo == SIGALRM || info.si_signo == SIGVTALRM || info.si_signo == SIGPROF;
    return info.si_code == SI_TIMER || (ofItimer && info.si_code == SI_KERNEL);
}

/// Sorts signals by number. The kernel keeps the order only of signals with equal numbers (signal(7)).
void sortByNumber(std::vector<const ProtobufCMessage*>& signals) {
    std::ranges::stable_sort(signals, {}, [](const ProtobufCMessage* signal) { return infoOf(*signal).si_signo; });
}

/// Compares queues of pending signals. Timers go on to expire, and if the whole tree was stopped, parents have got
/// SIGCHLD for it.
void compareSignals(const ProtobufCMessage& image, const ProtobufCMessage& tree, const Place& place,
                    const std::string& prefix, ComparisonSink& sink) {
    const auto signalsOf = [](const ProtobufCMessage& queue) {
        std::vector<const ProtobufCMessage*> signals;
        for (const SiginfoEntry* const each :
             list(viewAs<SignalQueueEntry>(queue).signals, viewAs<SignalQueueEntry>(queue).n_signals))
            signals.push_back(&each->base);
        return signals;
    };
    auto before = signalsOf(image);
    auto now = signalsOf(tree);
    for (std::size_t i = now.size(); i-- > 0 && now.size() > before.size();)
        if ((sink.treeIsStopped() && tellsOfStop(*now[i])) || isOfTimer(*now[i]))
            now.erase(now.begin() + static_cast<std::ptrdiff_t>(i));
    sortByNumber(before);
    sortByNumber(now);
    compareLists(before, now, place, prefix + "signals", sink);
}

constexpr std::array<std::string_view, 1> kMountFields{"options"};

/// Compares options of mounts. autofs shows the inode of its pipe, which a restore creates again.
void compareMountOptions(const ProtobufCMessage& image, const ProtobufCMessage& tree, const Place& place,
                         const std::string& prefix, ComparisonSink& sink) {
    const auto optionsOf = [](const ProtobufCMessage& mount) {
        static const std::regex kPipe("pipe_ino=[0-9]+");
        return std::regex_replace(std::string(viewAs<MntEntry>(mount).options), kPipe, "pipe_ino");
    };
    if (optionsOf(image) != optionsOf(tree))
        sink.differs(place, prefix + "options", viewAs<MntEntry>(image).options, viewAs<MntEntry>(tree).options);
}

constexpr std::array<std::string_view, 1> kDeviceFields{"flags"};

/// Compares flags of network devices without IFF_RUNNING, by which the kernel reports the carrier.
void compareDeviceFlags(const ProtobufCMessage& image, const ProtobufCMessage& tree, const Place& place,
                        const std::string& prefix, ComparisonSink& sink) {
    const std::uint32_t before = viewAs<NetDeviceEntry>(image).flags;
    const std::uint32_t now = viewAs<NetDeviceEntry>(tree).flags;
    if (((before ^ now) & ~std::uint32_t{IFF_RUNNING}) != 0)
        compareNumbers("flags", before, now, place, prefix, sink);
}

constexpr std::array<std::string_view, 1> kUnixFields{"backlog"};

/// Compares backlogs of Unix sockets. For sockets that don't listen, the kernel reports memory of its queues instead.
void compareBacklogs(const ProtobufCMessage& image, const ProtobufCMessage& tree, const Place& place,
                     const std::string& prefix, ComparisonSink& sink) {
    const auto& before = viewAs<UnixSkEntry>(image);
    const auto& now = viewAs<UnixSkEntry>(tree);
    if (before.state == TCP_LISTEN)
        compareNumbers("backlog", before.backlog, now.backlog, place, prefix, sink);
}

constexpr std::array<std::string_view, 1> kSocketFields{"so_rcvbuf"};

/// Compares sizes of receive buffers. setsockopt(2) can only set even sizes.
void compareBuffers(const ProtobufCMessage& image, const ProtobufCMessage& tree, const Place& place,
                    const std::string& prefix, ComparisonSink& sink) {
    const std::uint32_t before = viewAs<SkOptsEntry>(image).so_rcvbuf;
    const std::uint32_t now = viewAs<SkOptsEntry>(tree).so_rcvbuf;
    if (now != before && now != (before & ~std::uint32_t{1}))
        compareNumbers("so_rcvbuf", before, now, place, prefix, sink);
}

constexpr auto kMessageRules = std::to_array<MessageRule>({
    {"itimer_entry", kItimerFields, compareItimers},
    {"posix_timer_entry", kPosixTimerFields, comparePosixTimers},
    {"timerfd_entry", kTimerfdFields, compareTimerfds},
    {"timens_entry", kTimensFields, compareClocks},
    {"vma_entry", kVmaFields, compareShmids},
    {"reg_file_entry", kRegularFields, compareRegular},
    {"eventpoll_tfd_entry", kTargetFields, compareTargets},
    {"inotify_wd_entry", kWatchFields, compareWatches},
    {"fanotify_mark_entry", kMarkFields, compareMarks},
    {"remap_file_path_entry", kRemapFields, compareRemaps},
    {"ipc_shm_entry", kSegmentFields, compareSegments},
    {"task_core_entry", kStateFields, compareStates},
    {"signal_queue_entry", kQueueFields, compareSignals},
    {"mnt_entry", kMountFields, compareMountOptions},
    {"net_device_entry", kDeviceFields, compareDeviceFlags},
    {"unix_sk_entry", kUnixFields, compareBacklogs},
    {"sk_opts_entry", kSocketFields, compareBuffers},
});

}  // namespace

std::span<const MessageRule> messageRules() noexcept {
    return kMessageRules;
}

}  // namespace criu::engine
