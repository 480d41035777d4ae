package kafka

import "strconv"

// Error codes (kafka.apache.org, "Protocol", error codes) that mean something here.
const (
	unknownServerError                                        = -1
	leaderNotAvailable, notLeader, timedOut, brokerGone       = 5, 6, 7, 8
	replicaGone, loading, noCoordinator, notCoordinator       = 9, 14, 15, 16
	fewReplicas, fewReplicasAfter                             = 19, 20
	rebalancing, topicDenied, groupDenied, clusterDenied      = 27, 29, 30, 31
	unsupportedVersion, notController, transactionDenied      = 35, 41, 53
	storage                                                   = 56
	noFetchSession, fetchSessionEpoch, fencedLeader, memberID = 70, 71, 74, 79
)

// normal reports whether an answer is no error, or one that every client meets and
// knows what to do with: it asks in an older version, gets a member's id, joins its
// group again, or begins its fetches anew.
func (q answerTo) normal(code int16) bool {
	switch code {
	case 0, rebalancing, memberID:
		return true
	case unsupportedVersion:
		return q.key == apiVersions
	case noFetchSession, fetchSessionEpoch:
		return q.key == fetch
	}
	return false
}

// meaning sorts an error: rights are missing, another broker has it, or this one
// cannot do it for now.
func meaning(code int16) (access, moved, unable int) {
	switch code {
	case topicDenied, groupDenied, clusterDenied, transactionDenied:
		return 1, 0, 0
	case leaderNotAvailable, notLeader, replicaGone, notCoordinator, notController, fencedLeader:
		return 0, 1, 0
	case unknownServerError, timedOut, brokerGone, loading, noCoordinator, fewReplicas, fewReplicasAfter, storage:
		return 0, 0, 1
	}
	return 0, 0, 0
}

func errorName(code int16) string {
	if code == unknownServerError {
		return "UNKNOWN_SERVER_ERROR"
	}
	names := [...]string{
		1: "OFFSET_OUT_OF_RANGE", 2: "CORRUPT_MESSAGE", 3: "UNKNOWN_TOPIC_OR_PARTITION", 4: "INVALID_FETCH_SIZE",
		5: "LEADER_NOT_AVAILABLE", 6: "NOT_LEADER_OR_FOLLOWER", 7: "REQUEST_TIMED_OUT", 8: "BROKER_NOT_AVAILABLE",
		9: "REPLICA_NOT_AVAILABLE", 10: "MESSAGE_TOO_LARGE", 12: "OFFSET_METADATA_TOO_LARGE", 13: "NETWORK_EXCEPTION",
		14: "COORDINATOR_LOAD_IN_PROGRESS", 15: "COORDINATOR_NOT_AVAILABLE", 16: "NOT_COORDINATOR", 17: "INVALID_TOPIC_EXCEPTION",
		18: "RECORD_LIST_TOO_LARGE", 19: "NOT_ENOUGH_REPLICAS", 20: "NOT_ENOUGH_REPLICAS_AFTER_APPEND", 21: "INVALID_REQUIRED_ACKS",
		22: "ILLEGAL_GENERATION", 23: "INCONSISTENT_GROUP_PROTOCOL", 24: "INVALID_GROUP_ID", 25: "UNKNOWN_MEMBER_ID",
		26: "INVALID_SESSION_TIMEOUT", 27: "REBALANCE_IN_PROGRESS", 28: "INVALID_COMMIT_OFFSET_SIZE", 29: "TOPIC_AUTHORIZATION_FAILED",
		30: "GROUP_AUTHORIZATION_FAILED", 31: "CLUSTER_AUTHORIZATION_FAILED", 32: "INVALID_TIMESTAMP", 33: "UNSUPPORTED_SASL_MECHANISM",
		34: "ILLEGAL_SASL_STATE", 35: "UNSUPPORTED_VERSION", 36: "TOPIC_ALREADY_EXISTS", 37: "INVALID_PARTITIONS",
		38: "INVALID_REPLICATION_FACTOR", 39: "INVALID_REPLICA_ASSIGNMENT", 40: "INVALID_CONFIG", 41: "NOT_CONTROLLER",
		42: "INVALID_REQUEST", 43: "UNSUPPORTED_FOR_MESSAGE_FORMAT", 44: "POLICY_VIOLATION", 45: "OUT_OF_ORDER_SEQUENCE_NUMBER",
		46: "DUPLICATE_SEQUENCE_NUMBER", 47: "INVALID_PRODUCER_EPOCH", 48: "INVALID_TXN_STATE", 50: "INVALID_TRANSACTION_TIMEOUT",
		51: "CONCURRENT_TRANSACTIONS", 53: "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", 54: "SECURITY_DISABLED", 56: "KAFKA_STORAGE_ERROR",
		58: "SASL_AUTHENTICATION_FAILED", 59: "UNKNOWN_PRODUCER_ID", 69: "GROUP_ID_NOT_FOUND", 70: "FETCH_SESSION_ID_NOT_FOUND",
		71: "INVALID_FETCH_SESSION_EPOCH", 72: "LISTENER_NOT_FOUND", 73: "TOPIC_DELETION_DISABLED", 74: "FENCED_LEADER_EPOCH",
		75: "UNKNOWN_LEADER_EPOCH", 76: "UNSUPPORTED_COMPRESSION_TYPE", 78: "OFFSET_NOT_AVAILABLE", 79: "MEMBER_ID_REQUIRED",
		81: "GROUP_MAX_SIZE_REACHED", 82: "FENCED_INSTANCE_ID", 87: "INVALID_RECORD", 89: "THROTTLING_QUOTA_EXCEEDED",
		90: "PRODUCER_FENCED", 100: "UNKNOWN_TOPIC_ID",
	}
	if code >= 0 && int(code) < len(names) && names[code] != "" {
		return names[code]
	}
	return "error " + strconv.Itoa(int(code))
}
