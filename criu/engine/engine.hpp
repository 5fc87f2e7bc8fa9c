// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

#include "criu/base/unique_fd.hpp"
#include "criu/device/subsystems.hpp"
#include "criu/model/client.hpp"
#include "criu/model/stages.hpp"

namespace criu {
class ImageDir;
class Log;
class StopRequest;
}  // namespace criu

namespace criu::model {
struct Options;
}

namespace criu::engine {

class ImageStreamFile;
struct ImageKeys;
using model::Stage;

/// What one command runs with. The current directory is the work directory (logs, pid file, statistics).
struct Run {
    const model::Options& options;
    Log& log;
    StopRequest& stop;
    const device::Subsystems& devices;
    ImageStreamFile& stream;  ///< of --stream-to or --stream-from
    ImageKeys& keys;          ///< of --encrypt, --decrypt, --sign and --signed-by
    UniqueFd imagesDir = {};  ///< open for reading, O_DIRECTORY
    /// Who is told of stages where criu was started, and from a process that outlives the work: the user's programs, a
    /// client of the service.
    model::StageListeners listeners = {};
    /// Who is told by the process that does the work: device subsystems, whose part of the work is there. After the
    /// others.
    model::StageListeners drivers = {};
    /// Who it is done for.
    model::Client client = {};
};

/// The images directory of a command. It belongs to the client, who may have put anything there: so criu looks up,
/// makes and removes names in it with the client's rights, and what it makes is the client's.
[[nodiscard]] ImageDir takeImages(Run& run);

/// Dumps the tree options.tree. Returns the exit status: 0, or that of a post-dump script that asked for the tree to
/// go on. Throws Error when the dump failed; then all tasks run as before.
int dump(Run& run);

/// Writes the private memory of the tree options.tree, which goes on, and tracks what it writes from then on, for the
/// next dump to leave out what hasn't changed. Returns the exit status. Throws Error when it failed.
int preDump(Run& run);

/// Takes the pages of one dump from a sender and stores them in the images directory. With options.detached a daemon
/// does it, and this returns as soon as senders can connect. Returns the exit status. Throws Error.
int pageServer(Run& run);

/// Supplies the processes of one restore with the pages that it has left out (--lazy-pages), from images or from the
/// dump that has them (--page-server). With options.detached a daemon does it. Returns the exit status: not 0 if
/// processes were ended because memory of theirs couldn't be had. Throws Error.
int lazyPages(Run& run);

/// Frees in all parents of the images what these have themselves. Returns the exit status. Throws Error.
int dedup(Run& run);

/// Brings the tree of the images back. Without options.detached returns when its root has ended. With
/// options.execCommand it returns with the tree running as this process' children. Returns the exit status; throws
/// Error when nothing was left behind.
int restore(Run& run);

/// Looks at what a restore of the images looks at before it makes anything, and puts into `answer` what is in its way,
/// for people. Returns the exit status: 0 if that is nothing.
int explain(Run& run, std::string& answer);

/// Compares images, and those that they build on, with their checksums, and puts into `answer` what was compared and
/// what is damaged, for people. Returns the exit status: 0 if all have checksums and nothing is damaged. Throws Error
/// for what isn't a directory of images.
int verify(Run& run, std::string& answer);

/// Writes down what this machine's processor offers.
void dumpCpuInfo(Run& run);

/// Writes the files of an images directory as a stream (options.streamTo), or makes them of one (options.streamFrom),
/// in place of what an earlier dump has left there. Return the exit status; throw Error.
int packStream(Run& run);
int unpackStream(Run& run);

/// Compares it with what was written down, as options.cpuCaps says (all of it if that is empty). Throws Error if
/// something is missing here.
void checkCpuInfo(Run& run);

}  // namespace criu::engine
