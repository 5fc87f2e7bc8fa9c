// SPDX-License-Identifier: GPL-2.0-only
#include "builder.hpp"

#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>

namespace random_tree {

namespace {

const Kinds& kinds() {
    static const Kinds all = [] {
        Kinds made;
        add_file_kinds(made);
        add_event_kinds(made);
        add_socket_kinds(made);
        add_memory_kinds(made);
        add_process_kinds(made);
        add_signal_kinds(made);
        add_thread_kinds(made);
        add_namespace_kinds(made);
        return made;
    }();
    return all;
}

// Prints one line. Several processes share the file, which is open for appending.
void say(const std::string& line) {
    const std::string text = line + "\n";
    if (write(STDOUT_FILENO, text.data(), text.size()) < 0) {
        _exit(4);
    }
}

[[noreturn]] void fail(const std::string& text) {
    say("FAIL " + text);
    _exit(1);
}

}  // namespace

void fail_call(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

Step::Step(const std::string& line) : line_(line) {
    std::istringstream stream(line);
    for (std::string word; stream >> word;) {
        words_.push_back(word);
    }
}

const std::string& Step::word(std::size_t index) const {
    if (index >= words_.size()) {
        throw Missing("a word is missing");
    }
    return words_[index];
}

bool Step::has(const std::string& option) const {
    for (const std::string& word : words_) {
        if (word == option) {
            return true;
        }
    }
    return false;
}

std::string Step::text(const std::string& name, const std::string& otherwise) const {
    for (const std::string& word : words_) {
        if (word.starts_with(name + "=")) {
            return word.substr(name.size() + 1);
        }
    }
    return otherwise;
}

long Step::number(const std::string& name, long otherwise) const {
    const std::string value = text(name);
    return value.empty() ? otherwise : std::strtol(value.c_str(), nullptr, 0);
}

Specification read_specification(const std::string& path) {
    std::ifstream file(path);
    if (!file) {
        fail("can't read " + path);
    }
    Specification specification;
    std::vector<Step>* steps = nullptr;
    for (std::string line; std::getline(file, line);) {
        if (line.empty()) {
            continue;
        }
        Step step(line);
        if (step.kind() == "process") {
            steps = &specification[std::atoi(step.word(1).c_str())];
        } else if (steps == nullptr) {
            fail("a step precedes the first process: " + line);
        } else {
            steps->push_back(std::move(step));
        }
    }
    return specification;
}

void Builder::build(int process) {
    const auto found = specification_->find(process);
    if (found == specification_->end()) {
        return;
    }
    for (const Step& step : found->second) {
        execute(step);
    }
}

void Builder::execute(const Step& step) {
    const auto found = kinds().find(step.kind());
    if (found == kinds().end()) {
        fail("unknown step: " + step.line());
    }
    try {
        found->second(*this, step);
    } catch (const Missing& reason) {
        say("omitted " + step.line() + ": " + reason.what());
    } catch (const std::system_error& error) {
        const int number = error.code().value();
        // The limit of locked memory gives ENOMEM, and a descriptor of O_PATH gives EBADF.
        if (number != EPERM && number != EACCES && number != ENOMEM && number != EBADF && !paths_lost_) {
            fail(step.line() + ": " + error.what());
        }
        say("omitted " + step.line() + ": " + error.what());
    } catch (const std::exception& error) {
        fail(step.line() + ": " + error.what());
    }
}

int Builder::fd(const std::string& name) const {
    const auto found = fds_.find(name);
    if (found == fds_.end()) {
        throw Missing("there is no " + name);
    }
    return found->second;
}

Region& Builder::region(const std::string& name) {
    const auto found = regions_.find(name);
    if (found == regions_.end()) {
        throw Missing("there is no " + name);
    }
    return found->second;
}

pid_t Builder::child(const std::string& number) const {
    const auto found = children_.find(number);
    if (found == children_.end()) {
        throw Missing("there is no child " + number);
    }
    return found->second;
}

int* Builder::map_report() {
    void* word = mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (word == MAP_FAILED) {
        fail_call("mmap");
    }
    return static_cast<int*>(word);
}

void Builder::await_report(int* word, pid_t pid) {
    const int saved = errno;
    const std::atomic_ref<int> reported(*word);
    while (pid > 0 && reported.load() == 0) {
        const timespec limit{0, 100000000};
        syscall(SYS_futex, word, FUTEX_WAIT, 0, &limit, nullptr, 0);
        siginfo_t info{};
        // A child of CLONE_PARENT is a sibling, so waitid(2) doesn't find it.
        const bool ended =
            waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
        if (ended && reported.load() == 0) {
            fail("child " + std::to_string(pid) + " has ended: " + std::to_string(info.si_status));
        }
    }
    munmap(word, sizeof(int));
    if (pid < 0) {
        errno = saved;
        fail_call("create a child");
    }
}

void Builder::become(int process, int* word) {
    if (report_ != nullptr) {
        munmap(report_, sizeof(int));
    }
    report_ = word;
    // Threads of the parent don't exist here.
    answers_.clear();
    children_.clear();
    stops_ = false;
    build(process);
    report();
    serve();
}

void Builder::report() {
    if (report_ == nullptr) {
        say("READY");
        return;
    }
    std::atomic_ref<int>(*report_).store(1);
    syscall(SYS_futex, report_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    // The mapping stays, because a change after the report could come while the observer looks.
}

void Builder::serve() {
    if (stops_) {
        raise(SIGSTOP);
    }
    sigset_t trigger;
    sigemptyset(&trigger);
    sigaddset(&trigger, SIGTERM);
    while (sigwaitinfo(&trigger, nullptr) != SIGTERM) {
    }
    for (int* word : answers_) {
        std::atomic_ref<int> value(*word);
        value.store(1);
        syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
        while (value.load() == 1) {
            syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 1, nullptr, nullptr, 0);
        }
        if (value.load() != 2) {
            _exit(3);
        }
    }
    _exit(0);
}

void fill(std::span<std::byte> memory, long seed) {
    constexpr std::size_t page = 4096;
    for (std::size_t at = 0; at < memory.size(); ++at) {
        const std::size_t number = at / page;
        const bool zero = (number + static_cast<std::size_t>(seed)) % 7 == 3;
        const std::size_t mixed = at * 31 + number * 17 + static_cast<std::size_t>(seed) * 101 + (at >> 7);
        memory[at] = zero ? std::byte{0} : static_cast<std::byte>(mixed);
    }
}

std::string content(std::size_t size, long seed) {
    std::string made(size, '\0');
    for (std::size_t at = 0; at < size; ++at) {
        made[at] = static_cast<char>('!' + (at * 7 + static_cast<std::size_t>(seed) * 13 + at / 90) % 90);
    }
    return made;
}

}  // namespace random_tree

int main(int argc, char** argv) {
    const std::string path = argc > 1 ? argv[1] : "../specification";
    sigset_t trigger;
    sigemptyset(&trigger);
    sigaddset(&trigger, SIGTERM);
    sigprocmask(SIG_BLOCK, &trigger, nullptr);
    // The kernel sends SIGHUP to a process group with stopped members that becomes an orphan.
    signal(SIGHUP, SIG_IGN);
    const random_tree::Specification specification = random_tree::read_specification(path);
    char folder[PATH_MAX];
    if (getcwd(folder, sizeof folder) == nullptr) {
        return 2;
    }
    random_tree::Builder builder(specification, folder);
    builder.build(0);
    builder.report();
    builder.serve();
}
