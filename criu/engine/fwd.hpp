// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

/// Forward declarations of types that the engine's headers use only by reference or pointer.
namespace compel {
class FrozenProcess;
struct FrozenThread;
struct InjectedMemory;
class Injection;
class RemoteSyscalls;
class Tracee;
}  // namespace compel

namespace criu {
class Arena;
class ImageDir;
class ImageOutlet;
class Log;
class RecordPool;
class StopRequest;
class StreamerSupply;
struct WaitLimit;
}  // namespace criu

namespace criu::cgroup {
class CgroupDump;
enum class CgroupNsView : std::uint32_t;
class CgroupRestore;
class Freezer;
class PropertyTable;
}  // namespace criu::cgroup

namespace criu::crypto {
class SecretBytes;
}  // namespace criu::crypto

namespace criu::device {
class DeviceWork;
class DumpDevices;
class RestoreDevices;
}  // namespace criu::device

namespace criu::engine {
class SemUndoQueries;
class ProcessStandby;
class BornRestore;
class CapturedPhase;
struct CollectedFile;
class DumpNamespaces;
struct DumpStatistics;
class EarlyPages;
class EarlyThread;
class ExaminedPhase;
class FileCollector;
struct FileHolder;
class FrozenPhase;
struct FrozenTask;
class FrozenTree;
struct GuardedFiles;
struct GuardedRoot;
class Guardian;
struct ImageKeys;
class ImageStreamFile;
class LandlockCheck;
class LateFiles;
class LazyLink;
class LazyRestore;
struct ListeningPageServer;
class MemoryClone;
class MemoryTracking;
class ParkedRestore;
class PathRights;
class PidMap;
class PlannedRestore;
class PolicyQueries;
class PreparedRestore;
class Progress;
class RestoreControl;
class RestoredFiles;
struct RestoreImages;
class RestorerAreas;
struct RestoreRun;
struct RestoreStart;
class Rollback;
class RollbackStep;
struct Run;
class ScopedRlimits;
struct ServiceFds;
struct SharedPagesLink;
class StoppedClone;
class TaskFiles;
struct TaskRing;
class ThreadDirectories;
struct ThreadQueries;
class WpTrackerLink;
}  // namespace criu::engine

namespace criu::files {
class FileDump;
enum class FinalTaskState : std::uint8_t;
class LockRestore;
struct OpenFd;
class PathDump;
class PathRemaps;
struct RingAnswers;
class RestoredTree;
class RingOwners;
}  // namespace criu::files

namespace criu::kernel {
class CachedNamespaceIds;
class FdStore;
struct NamespaceIds;
enum class NamespaceKind : std::uint8_t;
class ProcBuffer;
class ProcPid;
struct TaskStatus;
class Usernsd;
struct Vma;
}  // namespace criu::kernel

namespace criu::memory {
class AddressSpace;
struct CloneFile;
struct CompatVdso;
struct DumpedMemory;
struct EarlyDump;
class LazyAreas;
class LazyMemory;
class MappedFileDump;
class PageConnection;
struct PageMessage;
class PageSinks;
class PageSource;
class PageSources;
class PageSupplier;
class RangeSet;
struct ReadWatch;
class Segments;
class SegmentsDump;
class SysvShmRestore;
struct VdsoLayout;
class VdsoMove;
class WriteTracking;
}  // namespace criu::memory

namespace criu::model {
struct Birth;
class BirthPlan;
struct Client;
struct FdSlot;
struct FileFacts;
class FilePlan;
enum class FileStage : std::uint8_t;
struct FileUser;
enum class FinalState : std::uint8_t;
class IdMap;
struct NestedPidNs;
class NestedPids;
enum class NetworkLock : std::uint8_t;
struct Options;
struct ProcessTree;
struct Task;
struct Thread;
struct ThreadBirth;
struct ThreadObjects;
class TreePids;
}  // namespace criu::model

namespace criu::namespaces {
struct DumpInputs;
struct DumpNsContext;
class JoinedNamespaces;
class NamespaceDump;
class NetworksDump;
class PosixQueuesDump;
struct RestoreInputs;
struct RestoreNsContext;
struct SemaphoreSet;
class TunDevices;
}  // namespace criu::namespaces

namespace criu::pie {
class RemoteData;
class StepList;
struct ThreadStart;
}  // namespace criu::pie

namespace criu::sockets {
class ExternalSocketDump;
class ExternalSocketRestore;
class NetworkLock;
}  // namespace criu::sockets

namespace criu::task {
struct Credentials;
enum class LabelModule : std::uint8_t;
class LabelRestore;
class SeccompDump;
struct SeccompPlan;
}  // namespace criu::task

namespace criu::tty {
class OutsideTerminals;
struct SeenSession;
}  // namespace criu::tty
