// SPDX-License-Identifier: GPL-2.0-only
// A FUSE file system of a test's own, by the protocol of /dev/fuse itself. It has two files of the same content, which
// may be read; one of them may be deleted. A third name is a symbolic link.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace zdtm {

inline constexpr char kFuseFile[] = "file";
inline constexpr char kFuseOtherFile[] = "other";
inline constexpr char kFuseLink[] = "link";
inline constexpr char kFuseAway[] = "away";  // see serve_as_told()
inline constexpr char kFuseContent[] = "served";

// Mounts it on a directory, which should be none that the runner looks into, and returns the server's descriptor of
// /dev/fuse. Skips the test where that can't be done.
int mount_fuse(const std::string& path);

// Servers that are started later answer this request about the deleted file with ESTALE: FUSE_GETATTR, as mergerfs
// does; FUSE_OPEN, FUSE_READ.
void forget_deleted_fuse_file(unsigned request);

// Answers requests until none comes for so many milliseconds. False once the file system is gone. `answers`: takes one
// request only, and is asked about it (FUSE_FLUSH ...); if it says no the request is left without an answer for ever.
bool serve_fuse(int server, int pause, const std::function<bool(unsigned request)>& answers = nullptr);

// What a wait for a request ended with.
enum class FuseTaken { Nothing, Request, Gone };

// Waits for a request for so many milliseconds, and reads it: a fuse_in_header and what belongs to it.
FuseTaken take_fuse_request(int server, int pause, std::vector<char>& bytes);

// Answers a request. `error`: an errno, or 0.
void answer_fuse_request(int server, std::uint64_t unique, int error, const void* data, std::size_t size);

// A server outside of the tree: a child of the parent of the tree's root. It answers until it is told not to.
class FuseSibling {
public:
    // What a deaf one does with requests: it leaves them, or takes and keeps them.
    enum class Deaf { Unread, Unanswered };

    // Takes the server's descriptor of /dev/fuse over.
    FuseSibling(int server, Deaf how);
    // Returns when it is deaf; the file system's last requests are answered before.
    void turn_deaf();
    void answer_again();
    // It ends by itself soon.
    void end();

private:
    enum State : int { Answering, ToBeDeaf, IsDeaf, Ending };
    [[noreturn]] static void serve(int server, Deaf how, std::atomic<int>& state);

    std::atomic<int>& state_;  // shared with the sibling
};

// Serves until `ending` or until the file system is gone. As long as there is a file "held" in the working directory,
// requests of the kind whose number (FUSE_GETATTR ...) it contains are taken but not answered; another file, "holding",
// is there while there are such. `target`: where the link "away" leads to; there is one if it isn't empty, and the
// kernel asks for access control lists of files then (FUSE_GETXATTR), whose owner is user 1.
void serve_as_told(int server, const std::atomic<bool>& ending, const std::string& target = {});

}  // namespace zdtm
