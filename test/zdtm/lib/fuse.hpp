// SPDX-License-Identifier: GPL-2.0-only
// A FUSE file system of a test, made by the protocol of /dev/fuse. It has two readable files with the same content, one
// of which may be deleted. A third name is a symbolic link.
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

// Mounts the file system, and returns the server's descriptor of /dev/fuse. The runner must not read the directory.
// Skips the test if the mount fails.
int mount_fuse(const std::string& path);

// Makes servers that start later answer this request with ESTALE for the deleted file. mergerfs does so for
// FUSE_GETATTR. Other requests: FUSE_OPEN, FUSE_READ.
void forget_deleted_fuse_file(unsigned request);

// Answers requests until none comes for `pause` milliseconds. Returns false once the file system is unmounted. With
// `answers` the function takes one request only, and leaves it without an answer if `answers` returns false.
bool serve_fuse(int server, int pause, const std::function<bool(unsigned request)>& answers = nullptr);

// Result of a wait for a request.
enum class FuseTaken { Nothing, Request, Gone };

// Waits `pause` milliseconds for a request, and reads it: a fuse_in_header and the rest.
FuseTaken take_fuse_request(int server, int pause, std::vector<char>& bytes);

// Answers a request. `error` is an errno, or 0.
void answer_fuse_request(int server, std::uint64_t unique, int error, const void* data, std::size_t size);

// A server outside of the tree: a child of the root's parent. It answers until turn_deaf().
class FuseSibling {
public:
    // How a deaf server treats requests: it doesn't read them, or reads and doesn't answer them.
    enum class Deaf { Unread, Unanswered };

    // Takes over the server's descriptor of /dev/fuse.
    FuseSibling(int server, Deaf how);
    // Returns when the server is deaf and has answered the last request.
    void turn_deaf();
    void answer_again();
    // The server then ends soon.
    void end();

private:
    enum State : int { Answering, ToBeDeaf, IsDeaf, Ending };
    [[noreturn]] static void serve(int server, Deaf how, std::atomic<int>& state);

    std::atomic<int>& state_;  // shared with the sibling
};

// Serves until `ending` is set or the file system is unmounted. Files in the working directory control it. The file
// "held" contains the number of a request kind (for example FUSE_GETATTR), whose requests the server takes and doesn't
// answer. The server makes the file "holding" while it has such requests. `target` is the destination of the link
// "away"; without it there is no link. With it the files belong to user 1, and the kernel asks for their access control
// lists (FUSE_GETXATTR).
void serve_as_told(int server, const std::atomic<bool>& ending, const std::string& target = {});

}  // namespace zdtm
