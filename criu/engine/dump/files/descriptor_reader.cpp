// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/files/descriptor_reader.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "criu/base/error.hpp"

namespace criu::engine {
namespace {

constexpr std::size_t kBatch = 32;
constexpr unsigned kMostDescriptorReaders = 4;
/// Minimum number of descriptors for which the reader starts threads. Starting threads takes as long as reading some
/// tens of descriptors.
constexpr std::size_t kWorthThreads = 4 * kBatch;

[[noreturn]] void failStat(const kernel::ProcPid& task, const files::OpenFd& file, int code) {
    Error error(code, fmt::format("stat fd {} of pid {} ({})", file.fd, file.pid,
                                  task.readLink(fmt::format("fd/{}", file.fd))));
    if (code == ESTALE)
        error.addHint(
            "the server of its file system doesn't know the file any more: it has been deleted, or the server is "
            "another one; have the program close it before the dump");
    throw error;
}

/// Device numbers of the kernel's file systems for files without names.
struct NamelessFiles {
    dev_t pipes = 0;      ///< pipefs
    dev_t anonymous = 0;  ///< anon_inodefs

    static NamelessFiles ofKernel() {
        int made[2];
        sys(::pipe2(made, O_CLOEXEC), "create a pipe");
        const UniqueFd ends[2] = {UniqueFd(made[0]), UniqueFd(made[1])};
        const UniqueFd event(sys(::eventfd(0, EFD_CLOEXEC), "create an eventfd"));
        return {deviceOf(ends[0].get()), deviceOf(event.get())};
    }

private:
    static dev_t deviceOf(int fd) {
        struct stat status {};
        sys(::fstat(fd, &status), "stat a new file");
        return status.st_dev;
    }
};

/// Returns the link of a file whose text follows from stat and fdinfo. Returns an empty string for other files.
std::string knownLink(const files::OpenFd& file) {
    static const NamelessFiles nameless = NamelessFiles::ofKernel();
    if (S_ISFIFO(file.stat.st_mode) && file.stat.st_dev == nameless.pipes)
        return fmt::format("pipe:[{}]", file.stat.st_ino);
    // fdinfo of an O_PATH descriptor has no line of a file kind.
    if (file.stat.st_dev != nameless.anonymous)
        return {};
    if (file.info.value("eventfd-count"))
        return "anon_inode:[eventfd]";
    return file.info.value("clockid") && file.info.value("ticks") ? "anon_inode:[timerfd]" : "";
}

}  // namespace

void readCopy(const kernel::ProcPid& task, files::OpenFd& file) {
    if (::fstat(file.copy.get(), &file.stat) != 0)
        failStat(task, file, errno);
    // An O_PATH descriptor of a socket file has no socket, so there is no socket family to query.
    if (S_ISSOCK(file.stat.st_mode) && (file.info.flags & O_PATH) == 0) {
        file.link = fmt::format("socket:[{}]", file.stat.st_ino);
        socklen_t size = sizeof(file.socketFamily);
        sys(::getsockopt(file.copy.get(), SOL_SOCKET, SO_DOMAIN, &file.socketFamily, &size),
            "read socket option SO_DOMAIN of fd {} of pid {}", file.fd, file.pid);
    } else {
        file.link = knownLink(file);
        if (file.link.empty())
            file.link = task.readLink(fmt::format("fd/{}", file.fd));
    }
}

// Lists fdinfo instead of fd, because read() opens each file in fdinfo.
DescriptorReader::DescriptorReader(const kernel::ProcPid& task, HostPid pid, HostPid actor, Find find, Prepare prepare)
    : task_(task),
      pid_(pid),
      actor_(actor),
      numbers_(task, "fdinfo"),
      find_(std::move(find)),
      prepare_(std::move(prepare)) {
    allListed_ = !numbers_.next(listed_);
    if (listed_.size() >= kWorthThreads)
        if (const unsigned threads = std::min(availableCores() - 1, kMostDescriptorReaders); threads != 0)
            pool_.emplace(threads);
    announce();
}

/// Returns a batch with the next descriptors, or null at the end. Lists more descriptors while the threads read
/// batches.
std::shared_ptr<DescriptorReader::Batch> DescriptorReader::nextBatch() {
    if (announced_ == listed_.size()) {
        listed_.clear();
        announced_ = 0;
        while (listed_.empty() && !allListed_)
            allListed_ = !numbers_.next(listed_);
        if (listed_.empty())
            return nullptr;
    }
    auto batch = std::make_shared<Batch>();
    const auto first = listed_.begin() + static_cast<std::ptrdiff_t>(announced_);
    const std::size_t count = std::min(kBatch, listed_.size() - announced_);
    batch->descriptors.assign(first, first + static_cast<std::ptrdiff_t>(count));
    announced_ += count;
    return batch;
}

/// Puts the next descriptors into batches, and submits the batches to the threads.
void DescriptorReader::announce() {
    const std::size_t most = pool_ ? std::size_t{2} * (pool_->threads() + 1) : 1;
    while (ahead_.size() < most) {
        const std::shared_ptr<Batch> batch = nextBatch();
        if (!batch)
            return;
        ahead_.push_back(batch);
        if (pool_)
            pool_->submit([this, batch] { tryRead(*batch); });
    }
}

/// Returns the pidfd of the process. Opens it when a thread first needs it, because a process may have inherited all
/// its descriptors.
const kernel::PidFd& DescriptorReader::process() {
    std::call_once(opened_, [this] { process_.emplace(kernel::PidFd::ofTask(actor_.value)); });
    return *process_;
}

void DescriptorReader::read(Batch& batch) {
    kernel::ProcBuffer buffer;
    try {
        batch.files.reserve(batch.descriptors.size());
        for (const int descriptor : batch.descriptors) {
            files::OpenFd file;
            file.pid = pid_;
            file.actor = actor_;
            file.fd = descriptor;
            file.info = kernel::readFdInfo(task_, file.fd, buffer);
            batch.found.push_back(find_(file));
            if (batch.found.back() == nullptr) {
                file.copy = process().getFd(file.fd);
                readCopy(task_, file);
                prepare_(file, batch.arena);
            }
            batch.files.push_back(std::move(file));
        }
    } catch (...) {
        batch.failure = std::current_exception();
    }
}

/// Reads the batch in this thread. Returns false if another thread has already taken the batch.
bool DescriptorReader::tryRead(Batch& batch) {
    State expected = State::Free;
    if (!batch.state.compare_exchange_strong(expected, State::Taken))
        return false;
    read(batch);
    const std::lock_guard lock(mutex_);
    batch.state = State::Done;
    done_.notify_one();
    return true;
}

/// Returns the first batch when all its descriptors are read. While another thread reads it, the calling thread reads
/// later batches.
DescriptorReader::Batch& DescriptorReader::current() {
    Batch& batch = *ahead_.front();
    while (batch.state != State::Done &&
           std::any_of(ahead_.begin(), ahead_.end(), [this](const auto& other) { return tryRead(*other); })) {
    }
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&batch] { return batch.state == State::Done; });
    return batch;
}

/// Removes the first batch. Lets a pool thread close the batch's descriptors, because close(2) takes time.
void DescriptorReader::drop() {
    const std::shared_ptr<Batch> batch = std::move(ahead_.front());
    ahead_.pop_front();
    at_ = 0;
    if (std::any_of(batch->files.begin(), batch->files.end(),
                    [](const files::OpenFd& file) { return file.prepared != nullptr; }))
        arenas_.push_back(std::move(batch->arena));
    if (pool_)
        pool_->submit([batch] { batch->files.clear(); });
}

const files::OpenFd* DescriptorReader::next() {
    while (!ahead_.empty()) {
        Batch& batch = current();
        if (at_ < batch.files.size())
            return &batch.files[at_++];
        if (batch.failure)
            rethrow(batch.failure);
        drop();
        announce();
    }
    return nullptr;
}

}  // namespace criu::engine
