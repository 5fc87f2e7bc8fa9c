// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/captured.hpp"

#include <compel/injection.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/refusals.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/engine/dump/examined.hpp"
#include "criu/engine/dump/files/dump_files.hpp"
#include "criu/engine/dump/frozen.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/engine/dump/memory/device_contents.hpp"
#include "criu/engine/dump/memory/dump_memory.hpp"
#include "criu/engine/dump/memory/mapped_files.hpp"
#include "criu/engine/dump/refusals.hpp"
#include "criu/engine/dump/tasks/dump_objects.hpp"
#include "criu/engine/dump/tasks/dump_task.hpp"
#include "criu/engine/dump/tasks/landlock_check.hpp"
#include "criu/engine/dump/tasks/sem_undo_queries.hpp"
#include "criu/engine/progress.hpp"
#include "criu/engine/statistics.hpp"
#include "criu/files/file_kind_dump.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/proc/limits.hpp"
#include "criu/kernel/sched.hpp"
#include "criu/memory/mappings/mapped_file_dump.hpp"
#include "criu/pie/enter.hpp"
#include "criu/task/scheduling.hpp"
#include "criu/task/seccomp.hpp"
#include "images/fs.hpp"
#include "images/mm.hpp"

namespace criu::engine {
namespace {

files::FinalTaskState finalTaskStateOf(model::FinalState state) noexcept {
    switch (state) {
        case model::FinalState::Running:
            return files::FinalTaskState::Run;
        case model::FinalState::Stopped:
            return files::FinalTaskState::Stop;
        case model::FinalState::Default:
            break;
    }
    return files::FinalTaskState::End;
}

}  // namespace

/// State of a dump while it captures the tree.
class CapturedPhase::Capture {
public:
    explicit Capture(ExaminedPhase& examined);

    [[nodiscard]] bool sawUprobes() const noexcept { return memory_.sawUprobes(); }
    [[nodiscard]] std::vector<std::string> extensions() const {
        std::vector<std::string> all = memory_.extensions();
        all.insert(all.end(), extensions_.begin(), extensions_.end());
        if (sawUnsharedThreads_)
            all.emplace_back(model::kUnsharedThreads);
        return all;
    }
    void captureSnapshots() { memory_.runInBackground(amounts_, frozen_.stop()); }
    void prepareKill() { files_.prepareKill(); }
    void release(model::FinalState state) noexcept { files_.release(finalTaskStateOf(state)); }

private:
    void prepareLandlockCheck();
    void captureTables();
    void captureProcesses();
    void examineProcess(FrozenTask& task, std::uint32_t number, SemUndoQueries& semUndo);
    void dumpExamined();
    void captureContents();

    /// Process whose mappings and files are dumped, and whose threads aren't.
    struct ExaminedProcess {
        ExaminedProcess(FrozenTask& examined, DumpMemory::Collected collected,
                        std::map<std::uint32_t, FsEntry> threadPaths)
            : task(examined), memory(std::move(collected)), paths(std::move(threadPaths)) {}

        FrozenTask& task;
        DumpMemory::Collected memory;
        std::map<std::uint32_t, FsEntry> paths;  ///< see TaskDumpContext::threadPaths
        std::optional<TaskDumpContext> context;
        std::optional<CoreDump> cores;
    };
    /// Number of processes whose threads make their queries at the same time. More processes hardly save more time.
    static constexpr std::size_t kProcessesAtOnce = 32;

    ExaminedPhase& examined_;
    FrozenPhase& frozen_;
    Refusals& refusals_ = frozen_.refusals();
    const std::optional<std::size_t> onlineCpus_ = kernel::onlineCpus();
    const std::uint64_t usualSlice_ = task::usualSlice();
    const std::size_t allowedMappings_ = kernel::allowedMappings();
    DumpMemory::Amounts amounts_;
    DumpMemory memory_;
    std::optional<LandlockCheck> landlock_;
    FileCollector files_;
    SharedMappedFiles mappedFiles_;
    task::SeccompDump seccomp_;
    std::vector<std::string> extensions_;  ///< extensions of namespaces
    bool sawUnsharedThreads_ = false;
    std::deque<ExaminedProcess> processes_;  ///< at most kProcessesAtOnce processes
    Progress progress_;
};

CapturedPhase::Capture::Capture(ExaminedPhase& examined)
    : examined_(examined),
      frozen_(examined.frozen()),
      memory_({frozen_.images(), frozen_.statistics(), frozen_.tracking(), frozen_.pages(), frozen_.options(),
               frozen_.log(), frozen_.tree(), examined.writtenEarly(), frozen_.refusals(), frozen_.flagReader()}),
      files_({frozen_.options(), frozen_.log(), frozen_.stop(), frozen_.images(), memory_.segments(), frozen_.devices(),
              frozen_.tree(), examined.mayInject(), examined.namespaces(), examined.guardedFiles(),
              frozen_.refusals()}),
      progress_("Dumping", amounts_.done, Progress::terminal(frozen_.options()), amounts_.total) {
    progress_.startThread();
    for (const std::uint32_t id : examined.nsContext().sharedMemory)
        memory_.reserve(id);
    frozen_.log().stage("processes");
    prepareLandlockCheck();
    memory_.lookAhead(frozen_.tree());
    captureTables();
    captureProcesses();
    captureContents();
}

void CapturedPhase::Capture::prepareLandlockCheck() {
    landlock_.emplace(frozen_.log());
    if (!examined_.usesServers())
        return;
    for (auto& task : frozen_.tree().tasks()) {
        const ErrorContext context([&] { return task->describe(); });
        if (task->alive())
            landlock_->prepare(*task);
    }
}

/// Dumps all descriptor tables before any memory, because a process may map a file for which only another process has a
/// descriptor.
void CapturedPhase::Capture::captureTables() {
    for (auto& task : frozen_.tree().tasks()) {
        frozen_.stop().throwIfRequested();
        if (task->alive()) {
            const ErrorContext context([&] { return task->describe(); });
            refusals_.attempt([&] { files_.addTable(*task); });
        }
    }
    refusals_.attempt([&] { refuseNestedDevices(frozen_.tree(), frozen_.devices()); });
}

void CapturedPhase::Capture::captureProcesses() {
    SemUndoQueries semUndo(frozen_.stop(), frozen_.log());
    std::uint32_t number = 1;  // number of the last process; 1 stands for criu itself
    for (auto& task : frozen_.tree().tasks()) {
        frozen_.stop().throwIfRequested();
        {
            const ErrorContext context([&] { return task->describe(); });
            if (task->alive())
                examineProcess(*task, ++number, semUndo);
            else
                dumpDead(*task, frozen_.images());
        }
        if (processes_.size() == kProcessesAtOnce)
            dumpExamined();
    }
    dumpExamined();
    refusals_.attempt([&] { semUndo.finish(); });
    // Ends the children of the Landlock check, because a pid namespace with such a child can't end.
    landlock_.reset();
}

/// Dumps mappings and files of one living process, and adds it to `processes_`. `number`: id in images of those kernel
/// objects that the process shares with no other process.
void CapturedPhase::Capture::examineProcess(FrozenTask& task, std::uint32_t number, SemUndoQueries& semUndo) {
    frozen_.log().info("Dumping {}", task.describe());
    refusals_.attempt([&] {
        const std::uint32_t table = files_.addTable(task);  // captureTables() has added the table; this returns its id
        dumpIds(task, number, table, examined_.namespaces(), frozen_.images());
        task.hasRings = files_.has(FD_TYPES__IO_URING, task.pid());
        if (task.hasRings && task.compat)
            fail("it is a 32-bit process with an io_uring, whose requests have another form, which can't be dumped");
    });
    std::optional<DumpMemory::Collected> memory;
    const auto mapped = makeMappedFiles(task, files_, memory_.segments(), frozen_.devices(), mappedFiles_);
    refusals_.attempt([&] { memory.emplace(memory_.collect(task, *mapped, frozen_.tree().seccompSuspended())); });
    std::uint32_t program = 0;
    refusals_.attempt([&] { program = files_.addLink(task, "exe", 0, true).value; });
    refusals_.attempt([&] { dumpPaths(task, files_, frozen_.images()); });
    std::map<std::uint32_t, FsEntry> paths;
    refusals_.attempt([&] { paths = threadPaths(task, files_); });
    sawUnsharedThreads_ = sawUnsharedThreads_ || !task.objects.empty();
    if (!memory || !examined_.mayInject())
        return;
    memory->mm.exe_file_id = program;
    const namespaces::DumpNsContext& around = examined_.nsContext();
    ExaminedProcess& process = processes_.emplace_back(task, *memory, std::move(paths));
    process.context.emplace(TaskDumpContext{frozen_.images(), frozen_.log(), frozen_.stop(), seccomp_, *landlock_,
                                            semUndo, *around.cgroups, frozen_.tree().seccompSuspended(), onlineCpus_,
                                            usualSlice_, allowedMappings_, around.ids, frozen_.tree().pids(),
                                            around.semaphoresOf(task.pid()), around.cgroupViewOf(task.pid()),
                                            *memory->policies, process.paths});
    if (!refusals_.attempt([&] { process.cores.emplace(task, *process.context, process.memory.mm); }))
        processes_.pop_back();
}

/// Dumps the threads of all processes in `processes_`. The tracer waits for many processes at the same time where it
/// can, because a switch between tracer and thread takes longer than most system calls.
void CapturedPhase::Capture::dumpExamined() {
    std::vector<compel::InjectionRequest> requests;
    for (ExaminedProcess& process : processes_)
        requests.push_back(process.cores->request());
    const auto memory = compel::mapBlobs(pie::interpreterBlob(), requests);
    // All injections own their memory before anything can fail.
    for (std::size_t i = 0; i < processes_.size(); ++i)
        if (memory[i])
            processes_[i].cores->place(*memory[i]);
    std::vector<ExaminedProcess*> started;
    for (ExaminedProcess& process : processes_) {
        const ErrorContext context([&] { return process.task.describe(); });
        if (refusals_.attempt([&] { process.cores->start(); }))
            started.push_back(&process);
    }
    std::vector<ExaminedProcess*> complete;
    std::vector<compel::Injection*> injections;
    for (ExaminedProcess* const process : started) {
        const ErrorContext context([&] { return process->task.describe(); });
        if (!refusals_.attempt([&] { process->cores->run(); }))
            continue;
        complete.push_back(process);
        injections.push_back(&process->cores->injection());
    }
    compel::Injection::cureAll(injections);
    for (ExaminedProcess* const process : complete) {
        const ErrorContext context([&] { return process->task.describe(); });
        if (refusals_.attempt([&] { process->cores->finish(); }) && !refusals_.collects())
            memory_.dumpAhead(process->memory, amounts_, frozen_.stop());
    }
    processes_.clear();
}

void CapturedPhase::Capture::captureContents() {
    seccomp_.write(frozen_.images());
    if (refusals_.collects()) {  // a dry run
        files_.finish();
        examined_.namespaces().write(
            {frozen_.images(), memory_.pages(), frozen_.statistics().sharedPagesWritten, extensions_});
        return;
    }
    frozen_.log().stage("memory");
    memory_.run(examined_.nsContext().ids, amounts_, frozen_.stop());
    dumpDeviceContents(frozen_, amounts_);
    if (const std::uint32_t number = examined_.nsContext().systemV; number != 0)
        memory_.writeSysvShm(number, examined_.nsContext().ids, frozen_.stop());
    frozen_.log().stage("files");
    files_.finish();
    examined_.namespaces().write(
        {frozen_.images(), memory_.pages(), frozen_.statistics().sharedPagesWritten, extensions_});
}

CapturedPhase::CapturedPhase(ExaminedPhase& examined)
    : examined_(examined), capture_(std::make_unique<Capture>(examined)) {}

CapturedPhase::~CapturedPhase() = default;

std::vector<std::string> CapturedPhase::extensions() const {
    return capture_->extensions();
}

bool CapturedPhase::sawUprobes() const noexcept {
    return capture_->sawUprobes();
}

void CapturedPhase::captureSnapshots() {
    capture_->captureSnapshots();
}

void CapturedPhase::prepareKill() {
    capture_->prepareKill();
}

void CapturedPhase::release(model::FinalState state) noexcept {
    capture_->release(state);
}

}  // namespace criu::engine
