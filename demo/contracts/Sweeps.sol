// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {TestToken} from "./TestToken.sol";

/// Attacks on a sweep, by a token or by a recipient of native coin.
enum Trouble {
    NONE,
    REVERT,
    REVERT_WITH_LARGE,
    RETURN_LARGE,
    BURN_GAS,
    CALL_BACK
}

abstract contract Troublesome {
    Trouble public trouble;
    address internal target;
    bytes internal callBack;
    uint256 public callsBack;

    function setTrouble(Trouble trouble_, address target_, bytes calldata callBack_) external {
        trouble = trouble_;
        target = target_;
        callBack = callBack_;
    }

    function makeTrouble() internal {
        Trouble kind = trouble;
        if (kind == Trouble.REVERT) revert("Rejected");
        if (kind == Trouble.REVERT_WITH_LARGE) {
            assembly {
                revert(0, 100000)
            }
        }
        if (kind == Trouble.RETURN_LARGE) {
            assembly {
                return(0, 100000)
            }
        }
        while (kind == Trouble.BURN_GAS) {}
        if (kind == Trouble.CALL_BACK && callsBack < 3) {
            ++callsBack;
            // If the call back fails, go on with the attack instead of ending the sweep.
            (bool done, ) = target.call(callBack);
            done;
        }
    }
}

/// A recipient with code, such as a merchant's wallet.
contract TroublesomeRecipient is Troublesome {
    receive() external payable {
        makeTrouble();
    }
}

/// A token that attacks before each transfer.
contract TroublesomeToken is TestToken, Troublesome {
    constructor(string memory name_, string memory symbol_, uint8 decimals_)
        TestToken(name_, symbol_, decimals_)
    {}

    function _transfer(address from, address to, uint256 value) internal override {
        makeTrouble();
        super._transfer(from, to, value);
    }
}

/// Returns false after it has moved the tokens, as Tether Gold does.
contract FalseAfterTransfer is TestToken {
    constructor(string memory name_, string memory symbol_, uint8 decimals_)
        TestToken(name_, symbol_, decimals_)
    {}

    function transfer(address to, uint256 value) external override returns (bool) {
        _transfer(msg.sender, to, value);
        return false;
    }
}

/// Sends native coin with the 2,300 gas of a plain transfer, as the hot wallets of some exchanges do.
contract StipendSender {
    function pay(address payable to) external payable {
        to.transfer(msg.value);
    }
}
