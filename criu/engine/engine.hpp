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

/// Inputs of one command. The current directory is the work directory: logs, pid file and statistics are there.
struct Run {
    const model::Options& options;
    Log& log;
    StopRequest& stop;
    const device::Subsystems& devices;
    ImageStreamFile& stream;  ///< file of --stream-to or --stream-from
    ImageKeys& keys;          ///< keys of --encrypt, --decrypt, --sign and --signed-by
    UniqueFd imagesDir = {};  ///< open for reading, O_DIRECTORY
    /// Listeners in the process that the user started, which outlives the working process: action scripts and the
    /// client of the service.
    model::StageListeners listeners = {};
    /// Listeners in the working process, notified after `listeners`: device subsystems, which do their part of the work
    /// there.
    model::StageListeners drivers = {};
    /// Client that requested the command.
    model::Client client = {};
};

/// Opens the images directory of a command. The directory belongs to the client, which may have planted names in it. So
/// criu looks up, creates and removes names with the client's path rights. New files belong to the client.
[[nodiscard]] ImageDir takeImages(Run& run);

/// Checks one running process immediately before criu seizes it for the client. The process may be a new child, or have
/// got the pid of an ended process since requireClientsProcesses().
void requireClientsProcess(const model::Client& client, HostPid pid);

/// Dumps the tree options.tree. Returns the exit status: 0, or that of a post-dump script that refused the tree kill.
/// Throws Error if the dump failed; all tasks then run as before.
int dump(Run& run);

/// Writes the private memory of the tree options.tree, then resumes the tree. Tracks writes from then on, so that the
/// next dump can leave out unchanged pages. Returns the exit status. Throws Error.
int preDump(Run& run);

/// Receives the pages of one dump and stores them in the images directory. With options.detached a daemon does that,
/// and pageServer() returns as soon as senders can connect. Returns the exit status. Throws Error.
int pageServer(Run& run);

/// Supplies the processes of one restore with lazy pages, from images or from the page server of the dump
/// (--page-server). With options.detached a daemon does that. Returns the exit status: not 0 if processes were killed
/// because their pages couldn't be read. Throws Error.
int lazyPages(Run& run);

/// Frees pages in all parent images that later images contain, too. Returns the exit status. Throws Error.
int dedup(Run& run);

/// Restores the tree of the images. Without options.detached, waits until the root has ended. With options.execCommand,
/// returns while the tree runs as children of this process. Returns the exit status. Throws Error if the restore
/// failed; no restored process is left then.
int restore(Run& run);

/// Makes the checks of a restore without creating anything. Puts a report of all obstacles into `answer`. Returns the
/// exit status: 0 if the report is empty.
int explain(Run& run, std::string& answer);

/// Compares images and their parent images with their checksums. Puts a report into `answer`. Returns the exit status:
/// 0 if all images have checksums and none is damaged. Throws Error for a directory without images.
int verify(Run& run, std::string& answer);

/// Writes the features of this machine's processor to an image.
void dumpCpuInfo(Run& run);

/// Packs the files of an images directory into a stream (options.streamTo), or unpacks a stream (options.streamFrom).
/// Unpacking replaces images of an earlier dump. Both return the exit status and throw Error.
int packStream(Run& run);
int unpackStream(Run& run);

/// Compares this processor with the image of dumpCpuInfo(). options.cpuCaps selects the features; empty selects all.
/// Throws Error if a feature is missing here.
void checkCpuInfo(Run& run);

}  // namespace criu::engine
