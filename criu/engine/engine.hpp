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
class Refusals;
class StopRequest;
}  // namespace criu

namespace criu::model {
struct Options;
}

namespace criu::engine {

class ImageStreamFile;
struct ImageKeys;
using model::Stage;

/// Inputs of one command. The current directory is the work directory, which contains logs, pid file and statistics.
struct Run {
    const model::Options& options;
    Log& log;
    StopRequest& stop;
    const device::Subsystems& devices;
    ImageStreamFile& stream;  ///< file of --stream-to or --stream-from
    ImageKeys& keys;          ///< keys of --encrypt, --decrypt, --sign and --signed-by
    Refusals& refusals;       ///< errors that a dry run or `criu explain` collects
    UniqueFd imagesDir = {};  ///< descriptor of the images directory, open for reading
    /// Listeners that the guardian notifies: action scripts, and the client of the service. The guardian can notify
    /// them even after the death of the working process.
    model::StageListeners listeners = {};
    /// Listeners that the working process notifies after `listeners`: device subsystems.
    model::StageListeners drivers = {};
    /// Client for whom the command runs.
    model::Client client = {};
};

/// Opens the images directory of a command. criu looks up, creates and removes names in it with the client's path
/// rights, because the client may have planted names there. New files belong to the client.
[[nodiscard]] ImageDir takeImages(Run& run);

/// Checks one running process immediately before criu seizes it for the client. requireClientsProcesses() has checked
/// the tree before, but not a new child, nor a process that has got the pid of an ended process.
void requireClientsProcess(const model::Client& client, HostPid pid);

/// Dumps the tree options.tree. Returns the exit status: 0, or the status of a post-dump script that refused the tree
/// kill. If the dump fails, resumes all tasks in their dumped state and throws Error.
int dump(Run& run);

/// Writes the private memory of the tree options.tree, and resumes the tree. Starts to track writes, so that the next
/// dump writes only changed pages. Returns the exit status. Throws Error.
int preDump(Run& run);

/// Receives the pages of one dump and stores them in the images directory. With options.detached, a daemon does the
/// work, and pageServer() returns as soon as clients can connect. Returns the exit status. Throws Error.
int pageServer(Run& run);

/// Serves lazy pages to the processes of one restore, from images or from the page server of the dump (--page-server).
/// With options.detached, a daemon does the work. Returns the exit status, which isn't 0 if criu killed processes
/// because it couldn't read their pages. Throws Error.
int lazyPages(Run& run);

/// Serves images and memory to restores (images/extmem.proto), which connect to options.providerSocket, or to one
/// restore by a passed socket. With options.detached, a daemon does the work. Returns the exit status. Throws Error.
int provideMemory(Run& run);

/// Frees a page in parent images if later images also contain this page. Returns the exit status. Throws Error.
int dedup(Run& run);

/// Restores the tree of the images. Without options.detached, waits until the root has ended. With options.execCommand,
/// returns while the tree runs as children of this process. Returns the exit status. If the restore fails, kills all
/// restored processes and throws Error.
int restore(Run& run);

/// Makes the checks of a restore, and creates nothing. Puts a report of all obstacles into `answer`. Returns the exit
/// status, which is 0 without obstacles.
int explain(Run& run, std::string& answer);

/// Verifies images and their parent images by checksums, signature or encryption. Puts a report into `answer`. Returns
/// the exit status, which is 0 if criu could verify all images and found no damage. Throws Error for a directory
/// without images.
int verify(Run& run, std::string& answer);

/// Exit statuses of compare(). Error has no status of its own: the program ends with kNotCompared.
inline constexpr int kEqual = 0;
inline constexpr int kDiffers = 1;
inline constexpr int kNotCompared = 2;

/// Compares the running tree options.tree with images, and prints the differences to standard output. The processes run
/// on. Returns one of the statuses above. Throws Error.
int compare(Run& run);

/// Writes the features of this machine's processor to an image.
void dumpCpuInfo(Run& run);

/// Packs the files of an images directory into a stream (options.streamTo). Returns the exit status. Throws Error.
/// unpackStream() reverses this: it unpacks a stream (options.streamFrom), and replaces images of an earlier dump.
int packStream(Run& run);
int unpackStream(Run& run);

/// Compares this machine's processor with the image of dumpCpuInfo(). Throws Error if this processor lacks a feature of
/// the image. options.cpuCaps selects the features; empty selects all.
void checkCpuInfo(Run& run);

}  // namespace criu::engine
