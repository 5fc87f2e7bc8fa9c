// SPDX-License-Identifier: GPL-2.0-only
// State of one process of a random tree while it executes its steps. A specification has one step on each line:
//
//     process 0
//     pipe p1 bytes=100 nonblock
//     child 1
//     process 1
//     dup d1 p1.r
//
// The first word is the kind of the step, and the next words are its names. The other words are options. A child is
// a copy of its parent at the step `child`, so it has the descriptors and the memory that earlier steps made.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace random_tree {

// Error for a step that refers to an object of a step which was removed from the specification.
class Missing : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// One line of a specification.
class Step {
public:
    explicit Step(const std::string& line);

    const std::string& kind() const { return words_.front(); }
    // Returns the word with this index; the kind has index 0. Throws Missing if there is no such word.
    const std::string& word(std::size_t index) const;
    // Returns true if the word is among the options.
    bool has(const std::string& option) const;
    // Returns the value of an option NAME=VALUE, or the other value if the step has no such option.
    std::string text(const std::string& name, const std::string& otherwise = "") const;
    long number(const std::string& name, long otherwise = 0) const;
    const std::string& line() const { return line_; }

private:
    std::string line_;
    std::vector<std::string> words_;
};

// Specification of a tree: the steps of each process, by the number of the process.
using Specification = std::map<int, std::vector<Step>>;

Specification read_specification(const std::string& path);

// Requires that a libc call didn't return -1. Throws std::system_error with errno.
template <typename Result>
Result require(Result result, const char* what);
[[noreturn]] void fail_call(const char* what);

template <typename Result>
Result require(Result result, const char* what) {
    if (result == Result(-1)) {
        fail_call(what);
    }
    return result;
}

// Memory that a step has mapped.
struct Region {
    std::byte* begin = nullptr;
    std::size_t pages = 0;
};

class Builder {
public:
    Builder(const Specification& specification, std::string folder)
        : specification_(&specification), folder_(std::move(folder)) {}

    // Executes the steps of a process. A step that fails for lack of rights, or that refers to a missing object, is
    // omitted. Any other failure ends the process with a message.
    void build(int process);

    // Reports to the parent that the state is built.
    void report();

    // Sleeps until SIGTERM arrives, and lets the threads show that they run. Ends the process.
    [[noreturn]] void serve();

    // Returns the descriptor of a name. Throws Missing.
    int fd(const std::string& name) const;
    void keep(const std::string& name, int fd) { fds_[name] = fd; }
    void forget(const std::string& name) { fds_.erase(name); }

    Region& region(const std::string& name);
    void keep(const std::string& name, Region region) { regions_[name] = region; }

    // Returns the pid of a child that an earlier step has created. Throws Missing.
    pid_t child(const std::string& number) const;
    void keep_child(const std::string& number, pid_t pid) { children_[number] = pid; }

    // Returns a path below the folder of the test.
    std::string path(const std::string& name) const { return folder_ + "/" + name; }

    // Creates a child by `create`, which returns as fork(2) does. The child executes the steps of a process.
    template <typename Create>
    pid_t start(int process, Create create) {
        int* const word = map_report();
        const pid_t pid = create();
        if (pid == 0) {
            become(process, word);
        }
        await_report(word, pid);
        return pid;
    }

    // Marks that paths of the test can't be found any more, because the process has another root directory.
    void lose_paths() { paths_lost_ = true; }
    // Makes the process stop itself when it has reported.
    void stop_at_end() { stops_ = true; }
    // Adds a thread that answers through this word, which must live as long as the process.
    void add_answer(int* word) { answers_.push_back(word); }

private:
    // Maps the word by which a child reports. A pipe would be closed by children that share the descriptor table.
    static int* map_report();
    static void await_report(int* word, pid_t pid);
    [[noreturn]] void become(int process, int* word);
    void execute(const Step& step);

    const Specification* specification_;
    std::string folder_;
    int* report_ = nullptr;  // word of the parent; none for the root
    bool paths_lost_ = false;
    bool stops_ = false;
    std::map<std::string, int> fds_;
    std::map<std::string, Region> regions_;
    std::map<std::string, pid_t> children_;
    std::vector<int*> answers_;
};

// Executes a step of one kind.
using Execute = void (*)(Builder&, const Step&);
using Kinds = std::map<std::string, Execute>;

void add_file_kinds(Kinds& kinds);
void add_event_kinds(Kinds& kinds);
void add_socket_kinds(Kinds& kinds);
void add_memory_kinds(Kinds& kinds);
void add_process_kinds(Kinds& kinds);
void add_signal_kinds(Kinds& kinds);
void add_thread_kinds(Kinds& kinds);
void add_namespace_kinds(Kinds& kinds);

// Fills memory with bytes that depend on position and seed. A few pages repeat, and a few are zero.
void fill(std::span<std::byte> memory, long seed);

// Returns such bytes, without zero bytes.
std::string content(std::size_t size, long seed);

}  // namespace random_tree
